// kitsoki is the operator's terminal for headless coding agents.
package main

import (
	"os"

	"example.com/kitsoki/host/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
