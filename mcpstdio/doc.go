// Package mcpstdio is the agent's grandchild: an MCP server on standard input and output with the one tool
// through which an agent asks.
//
// It holds no state of the ask. A call's arguments go over the dispatch's socket byte for byte, and what comes
// back becomes the tool's result; see package askbridge, which with mcp-go is all that it imports. Serve owns
// its goroutines and returns when they have ended.
package mcpstdio
