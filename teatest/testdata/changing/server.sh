#!/bin/sh
# An MCP server of two tools, change and granted. A call of one makes a file of its name in the directory $1.
answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
tool() { printf '{"name":"%s","description":"Changes something.","inputSchema":{"type":"object","properties":{}}}' "$1"; }
while read -r line; do
	id=$(printf '%s' "$line" | sed -n -e 's/.*"id":\("[^"]*"\)[,}].*/\1/p' -e 's/.*"id":\([0-9][0-9]*\)[,}].*/\1/p')
	case $line in
	*'"method":"initialize"'*) answer '"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"mine","version":"1"}}' ;;
	*'"method":"tools/list"'*) answer "\"result\":{\"tools\":[$(tool change),$(tool granted)]}" ;;
	*'"method":"tools/call"'*)
		case $line in *'"name":"granted"'*) name=granted ;; *) name=change ;; esac
		: >"$1/$name"
		answer '"result":{"content":[{"type":"text","text":"changed"}]}'
		;;
	*) if [ -n "$id" ]; then answer '"error":{"code":-32601,"message":"not here"}'; fi ;;
	esac
done
