/** `npm run lint:docs [FOLDER]`: every link, heading and path that Markdown names exists, and the README's map has all rooms. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { deadLinks } from './lib/document-links.mjs';
import { inProject } from './lib/project.mjs';

const root = path.resolve(process.argv[2] ?? inProject('.'));
const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
});
const files = listed.split('\n').filter(Boolean);
const problems = deadLinks(root, files).map(({ file, line, problem }) => `${file}:${line} ${problem}`);

const readme = readFileSync(path.join(root, 'README.md'), 'utf8');
for (const { name } of readdirSync(path.join(root, 'src'), { withFileTypes: true }).filter(entry =>
  entry.isDirectory(),
))
  if (!readme.includes(`\nsrc/${name}/`)) problems.push(`README.md: "How it is laid out" lacks src/${name}/`);

if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exitCode = 1;
}
