// Package cli is the command tree, a file a command. It puts the parts together and is the only package that
// may import all of them.
package cli
