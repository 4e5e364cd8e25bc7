package teatest

import (
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const module = "example.com/kitsoki"

// house says what each package may import of ours, directly. A package below a named one follows its rule. Only
// host/cli, which puts the parts together, and the tests in teatest may import everything.
var house = map[string][]string{
	".":             {"host/cli"},
	"askbridge":     {},
	"mcpstdio":      {"askbridge"},
	"host":          {"askbridge"},
	"host/hosttest": {"host"},
	"host/agent":    {"askbridge", "host"},
	"host/trace":    {"askbridge", "host"},
	"host/settings": {},
	"host/session":  {"askbridge", "host", "host/agent", "host/gate", "host/trace"},
	"host/gate":     {"askbridge", "host"},
	"host/rpc":      {"askbridge/frame"},
	"host/control":  {"askbridge", "host", "host/rpc", "host/session"},
	"host/serve":    {"askbridge", "host", "host/agent", "host/rpc", "host/session", "host/trace"},
	"tui":           {"askbridge", "host", "host/session", "host/control"},

	"host/gate/classify": {},
	"host/gate/wall":     {},
	"host/profiles":      {},
}

// anywhere lists the packages that import what they like.
var anywhere = []string{"host/cli", "teatest"}

// screenLibraries draw on a terminal; only the terminal's own packages know them.
var screenLibraries = []string{
	"github.com/charmbracelet/bubbletea", "github.com/charmbracelet/bubbles", "github.com/charmbracelet/huh",
	"github.com/charmbracelet/lipgloss",
}

// outside says which packages from elsewhere, beside the standard library, the inner packages may import.
var outside = map[string][]string{
	"askbridge": {"golang.org/x/sys", "golang.org/x/time", "github.com/rivo/uniseg"},
	"mcpstdio":  {"github.com/mark3labs/mcp-go"},
	"host":      {},
	"host/rpc":  {"golang.org/x/sys"},

	"host/settings":      {"github.com/goccy/go-yaml"},
	"host/profiles":      {},
	"host/gate/classify": {"mvdan.cc/sh/v3/syntax"},
	"host/gate/wall":     {"golang.org/x/sys"},
}

func TestImportsKeepTheirDirection(t *testing.T) {
	pkgs, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedImports, Dir: ".."}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) < 5 {
		t.Fatalf("only %d packages were loaded", len(pkgs))
	}
	for _, p := range pkgs {
		for _, err := range p.Errors {
			t.Errorf("%s: %v", p.PkgPath, err)
		}
		from := short(p.PkgPath)
		for imported := range p.Imports {
			if problem := judge(from, imported); problem != "" {
				t.Errorf("%s imports %s: %s", from, imported, problem)
			}
		}
	}
}

// The judge itself: a rule that lets everything through would make the test above pass for ever.
func TestImportRulesRefuse(t *testing.T) {
	for _, bad := range [][2]string{
		{"askbridge", module + "/host"}, {"host", module + "/host/session"}, {"host/agent", module + "/host/story"},
		{"host/session", module + "/tui"}, {"host/gate", module + "/host/agent"}, {"host/web", module + "/tui"}, {"tui", module + "/host/agent"}, {"tui/question", module + "/mcpstdio"},
		{"host/session", "github.com/charmbracelet/bubbletea"}, {"host/cli", "github.com/charmbracelet/huh"},
		{"mcpstdio", "github.com/spf13/cobra"}, {"host", "github.com/google/uuid"}, {"lib", "fmt"},
		{"host/hosttest", module + "/host/agent"}, {"mcpstdio/studio", module + "/tui"},
		{"host/rpc", module + "/host/session"}, {"host/rpc", module + "/askbridge"}, {"host/serve", module + "/tui"},
		{"host/session", module + "/host/serve"}, {"host/rpc", "github.com/google/uuid"},
		{"host/gate/wall", module + "/host"}, {"host/gate/wall", "github.com/spf13/cobra"},
	} {
		if judge(bad[0], bad[1]) == "" {
			t.Errorf("%s may import %s", bad[0], bad[1])
		}
	}
	for _, good := range [][2]string{
		{"tui/question", module + "/tui/keys"}, {"host/agent/scripted", "github.com/goccy/go-yaml"},
		{"host/cli", module + "/tui"}, {"host/rpc", module + "/askbridge/frame"}, {"askbridge", "net"}, {"tui", "github.com/charmbracelet/huh"},
	} {
		if problem := judge(good[0], good[1]); problem != "" {
			t.Errorf("%s may not import %s: %s", good[0], good[1], problem)
		}
	}
}

// judge returns what is wrong with a direct import; nothing when it is allowed.
func judge(from, imported string) string {
	home := homeOf(from)
	if home == "" {
		return "the layout has no such package"
	}
	switch {
	case imported == module || strings.HasPrefix(imported, module+"/"):
		to := short(imported)
		if slices.Contains(anywhere, home) || to == home || (home != "host" && within(to, home)) {
			return ""
		}
		for _, allowed := range house[home] {
			if to == allowed || (allowed != "host" && within(to, allowed)) {
				return ""
			}
		}
		return "against the direction of the layout"
	case !strings.Contains(strings.Split(imported, "/")[0], "."):
		return "" // the standard library
	}
	if home != "tui" && home != "teatest" && slices.ContainsFunc(screenLibraries, func(lib string) bool { return within(imported, lib) }) {
		return "only tui and teatest draw on the screen"
	}
	if allowed, ok := outside[home]; ok && !slices.ContainsFunc(allowed, func(lib string) bool { return within(imported, lib) }) {
		return "this package stays with the standard library and what its rule names"
	}
	return ""
}

// homeOf returns the nearest package above (or at) the given one that has a rule; host's own rule is for host
// itself and not for what is below it.
func homeOf(pkg string) string {
	for at := pkg; ; at = path.Dir(at) {
		_, ruled := house[at]
		if (ruled && (at != "host" || pkg == "host") && (at != "." || pkg == ".")) || slices.Contains(anywhere, at) {
			return at
		}
		if at == "." {
			return ""
		}
	}
}

func within(pkg, parent string) bool { return pkg == parent || strings.HasPrefix(pkg, parent+"/") }

func short(pkgPath string) string {
	if pkgPath == module {
		return "."
	}
	return strings.TrimPrefix(pkgPath, module+"/")
}
