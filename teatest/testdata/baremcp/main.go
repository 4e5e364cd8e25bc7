// baremcp is the least that a stdio MCP server with one tool is when it is made of mcp-go: what any grandchild
// written in Go with this library costs.
package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	s := server.NewMCPServer("bare", "1")
	schema := json.RawMessage(`{"type":"object","properties":{"question":{"type":"string"}},"required":["question"]}`)
	s.AddTool(mcp.NewToolWithRawSchema("ask", "Echoes.", schema),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("Postgres"), nil
		})
	if err := server.ServeStdio(s); err != nil {
		os.Exit(1)
	}
}
