// The least that a stdio MCP server with one tool is in node, without packages: what node itself costs.
'use strict';

const results = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: {tools: {}},
    serverInfo: {name: 'bare', version: '1'},
  },
  'tools/list': {
    tools: [{
      name: 'ask',
      description: 'Echoes.',
      inputSchema: {type: 'object', properties: {question: {type: 'string'}}, required: ['question']},
    }],
  },
  'tools/call': {content: [{type: 'text', text: 'Postgres'}]},
};

require('readline').createInterface({input: process.stdin}).on('line', (line) => {
  const {id, method} = JSON.parse(line);
  if (id === undefined) return;
  const result = results[method];
  const reply = result ? {result} : {error: {code: -32601, message: 'no such method: ' + method}};
  process.stdout.write(JSON.stringify({jsonrpc: '2.0', id, ...reply}) + '\n');
});
