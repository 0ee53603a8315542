import path from 'node:path';
import type { BootCredentials } from './first-boot.js';
import type { Config } from './platform/config/index.js';

/** What a person reads when the service is up: where it is, and a first run to paste. */
export function welcome(config: Config, credentials: BootCredentials | undefined): string {
  const url = config.baseUrl;
  if (!credentials) return `\nAtelier is ready at ${url} (API description: ${url}/docs)\n\n`;
  const file = path.join(config.dataDir, 'credentials.json');
  return `
Atelier is ready at ${url}

  API description   ${url}/docs
  Your credentials  ${file} (readable by you alone)

Send a first message to an agent; paste this into another terminal in this folder:

  field() { sed -n "s/.*\\"$1\\": \\"\\(.*\\)\\".*/\\1/p" ${file}; }
  KEY=$(field api_key) WORKSPACE=$(field workspace_id)

  CALL=$(curl -s ${url}/api/agent/message -H "X-API-Key: $KEY" -H 'Content-Type: application/json' \\
    -d "{\\"workspace_id\\": \\"$WORKSPACE\\", \\"message\\": \\"list\\nwrite hello.txt: Hello from an agent\\nrun cat hello.txt && date\\"}" \\
    | sed 's/.*"call_id":"\\([^"]*\\)".*/\\1/')

  # watch it work
  curl -sN "${url}/api/agent/runs/$CALL/events" -H "X-API-Key: $KEY"

  # fetch the file it made
  curl -s "${url}/api/workspaces/$WORKSPACE/files/download?path=hello.txt" -H "X-API-Key: $KEY"

`;
}
