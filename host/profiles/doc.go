// Package profiles is what is known of agents as their operator runs them: where each keeps its MCP servers, what an
// entry must say so that it waits for an operator, and how one run of it is given a server without a change to its files.
//
// All of it was measured with the programs themselves, at the versions that docs/reach.md names. The package starts
// nothing and reads only what a command line or its environment points to.
package profiles
