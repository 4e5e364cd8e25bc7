// Package scripted is the embedded agent: it plays a scenario, a YAML file of steps, and follows the `claude -p`
// contract while it does. It takes the same flags, starts the MCP servers of its --mcp-config for real, calls
// their tools for real, and prints the same stream-json. Only the model and its built-in tools are imitated.
//
// A step kind is a struct with a method play (see [Step]); a new kind is a field, its struct and nothing else.
//
// scripted imports goccy/go-yaml, mcp-go's client and google/uuid, and nothing of kitsoki: it stands where a
// stranger's program stands. Run owns every goroutine and child process below it and returns when they have ended.
package scripted
