import { readFileSync, writeFileSync } from 'node:fs';
import { apiDescription } from './api-description.js';
import { envExampleText, settingsDocumentText } from './platform/config/index.js';

/**
 * Writes the files that follow from the code: `openapi.json`, `.env.example` and `docs/settings.md`. With `--check` it writes nothing and
 * fails where one of them is out of date.
 */
const files: Record<string, string> = {
  // Indented by one: by two, a third of it would be blanks.
  'openapi.json': `${JSON.stringify(await apiDescription(), null, 1)}\n`,
  '.env.example': envExampleText(),
  'docs/settings.md': settingsDocumentText(),
};

let stale = 0;
for (const [name, content] of Object.entries(files)) {
  if (!process.argv.includes('--check')) writeFileSync(name, content);
  else if (readOrEmpty(name) !== content) {
    stale++;
    process.stderr.write(`${name} is out of date: run npm run generate\n`);
  }
}
process.exit(stale > 0 ? 1 : 0);

function readOrEmpty(name: string): string {
  try {
    return readFileSync(name, 'utf8');
  } catch {
    return '';
  }
}
