// Package scripted is the embedded agent: it plays a scenario, a YAML file of steps, and follows the `claude -p`
// contract while it does. It takes the same flags, starts the MCP servers of its --mcp-config for real, calls
// their tools for real, and prints the same stream-json. Only the model and its built-in tools are imitated.
//
//	name: greeting
//	description: Asks for a name and says it.
//	pace: 15ms
//	without_operator: Nobody can be asked, so I greet everybody.
//	steps:
//	  - say: 'You want "{{short .Prompt}}".'
//	  - ask:
//	      id: who
//	      questions: [{question: Whom?, header: Name, options: [{label: Everybody, description: in the room}]}]
//	  - on:
//	      call: who
//	      answered: [{say: 'Hello, {{answer "who" "Whom?"}}.'}]
//	      error: [{say: 'Nobody answered: {{error "who"}}. I greet everybody.'}]
//
// The step kinds are the fields of [Step]. A new kind is a field, a row in Step.action, and a struct that can check
// and play itself; one that is a call of a tool can also stand in together.
//
// scripted imports goccy/go-yaml, mcp-go's client and google/uuid, and nothing of kitsoki: it stands where a
// stranger's program stands. Run owns every goroutine and child process below it and returns when they have ended;
// only a write that nobody reads is left to end with the process.
package scripted
