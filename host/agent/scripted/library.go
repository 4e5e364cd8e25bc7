package scripted

import (
	"embed"
	"fmt"
	"os"
	"slices"
	"strings"
)

// EnvScenario names the scenario of a run: one that is embedded, or a file. EnvPace replaces its pace.
const (
	EnvScenario = "KITSOKI_SCENARIO"
	EnvPace     = "KITSOKI_SCENARIO_PACE"
)

// DefaultScenario is played when the environment names none.
const DefaultScenario = "one-question"

//go:embed scenarios/*.yaml
var embedded embed.FS

// Info describes an embedded scenario.
type Info struct{ Name, Description string }

// Names lists the embedded scenarios, the default first. It parses none of them.
func Names() []string {
	entries, _ := embedded.ReadDir("scenarios") // embedded, so it is there
	var names []string
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".yaml"); name != DefaultScenario {
			names = append(names, name)
		}
	}
	return slices.Insert(names, 0, DefaultScenario)
}

// Describe lists the embedded scenarios with their descriptions, the default first.
func Describe() []Info {
	var infos []Info
	for _, name := range Names() {
		info := Info{Name: name}
		if sc, err := load(name); err == nil {
			info.Description = sc.Description
		}
		infos = append(infos, info)
	}
	return infos
}

// Check reports whether a scenario can be played, so that a command can say so before it starts an agent.
func Check(name string) error {
	_, err := load(name)
	return err
}

// load reads a scenario by the name of an embedded one or the path of a file; "" is the default.
func load(name string) (*Scenario, error) {
	if name == "" {
		name = DefaultScenario
	}
	if slices.Contains(Names(), name) {
		src, err := embedded.ReadFile("scenarios/" + name + ".yaml")
		if err != nil {
			return nil, err
		}
		return decodeScenario(name, src)
	}
	src, err := os.ReadFile(name)
	switch {
	case err == nil:
		return decodeScenario(name, src)
	case os.IsNotExist(err):
		return nil, fmt.Errorf("there is no scenario %q; use the path of a file or one of: %s", name, strings.Join(Names(), ", "))
	}
	return nil, fmt.Errorf("the scenario cannot be read: %w", err)
}
