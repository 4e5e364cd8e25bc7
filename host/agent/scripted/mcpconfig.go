package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// serverConfig is one entry of an MCP configuration.
type serverConfig struct {
	name    string
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Timeout int64             `json:"timeout"` // of each call, in milliseconds; 0: MCP_TOOL_TIMEOUT or none
}

// readServers reads the values of --mcp-config, each a file or the JSON itself. The configurations are joined; of
// two servers with one name the later counts (measured with claude 2.1.332).
func readServers(configs []string) ([]serverConfig, error) {
	byName := map[string]serverConfig{}
	for _, config := range configs {
		raw := []byte(config)
		if !json.Valid(raw) || !strings.HasPrefix(strings.TrimSpace(config), "{") {
			var err error
			if raw, err = os.ReadFile(config); err != nil {
				return nil, fmt.Errorf("the MCP configuration cannot be read: %w", err)
			}
		}
		var doc struct {
			Servers map[string]serverConfig `json:"mcpServers"`
		}
		if err := json.Unmarshal(raw, &doc); err != nil {
			return nil, fmt.Errorf("the MCP configuration is not valid: %w", err)
		}
		if doc.Servers == nil {
			return nil, errors.New("the MCP configuration is not valid: it has no mcpServers")
		}
		for name, s := range doc.Servers {
			s.name = name
			byName[name] = s
		}
	}
	servers := make([]serverConfig, 0, len(byName))
	for _, s := range byName {
		servers = append(servers, s)
	}
	slices.SortFunc(servers, func(a, b serverConfig) int { return strings.Compare(a.name, b.name) })
	return servers, nil
}

// limits are how long a server may take, by claude's environment variables.
type limits struct {
	start time.Duration // MCP_TIMEOUT, until it has listed its tools
	call  time.Duration // MCP_TOOL_TIMEOUT; 0: no limit
}

func limitsFrom(env func(string) string) limits {
	millis := func(name string, otherwise time.Duration) time.Duration {
		if n, err := strconv.ParseInt(env(name), 10, 64); err == nil && n > 0 {
			return time.Duration(n) * time.Millisecond
		}
		return otherwise
	}
	return limits{start: millis("MCP_TIMEOUT", 30*time.Second), call: millis("MCP_TOOL_TIMEOUT", 0)}
}
