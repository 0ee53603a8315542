/**
 * Makes a release: `node scripts/release.mjs 1.2.3 [--dry-run]`. Checks that it may be made, sets the version, dates the
 * changelog, commits and tags; a workflow builds and publishes the image of a pushed tag. Nothing leaves this machine: the last
 * lines say what to push. `--dry-run` checks and shows the same, and changes nothing. Plain Node.js 20, no dependencies.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { inProject } from './lib/project.mjs';

const VERSION = /^(\d+)\.(\d+)\.(\d+)$/;
const [version, ...flags] = process.argv.slice(2);
const isDryRun = flags.includes('--dry-run');
const root = process.env.RELEASE_ROOT ?? inProject();
const at = name => path.join(root, name);
const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

class Refused extends Error {}

try {
  release();
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

function release() {
  const current = JSON.parse(readFileSync(at('package.json'), 'utf8')).version;
  requireReleasable(current);
  const date = new Date().toISOString().slice(0, 10);
  const changelog = readFileSync(at('CHANGELOG.md'), 'utf8');
  const notes = unreleased(changelog);
  if (!notes)
    throw new Refused('CHANGELOG.md has nothing under [Unreleased]: say what this release changes.');

  step(`package.json, package-lock.json: ${current} → ${version}`, () => {
    for (const name of ['package.json', 'package-lock.json']) setVersion(name);
  });
  step(`CHANGELOG.md: [Unreleased] → [${version}] - ${date}`, () =>
    writeFileSync(at('CHANGELOG.md'), dated(changelog, date)),
  );
  step('npm run generate (the version stands in openapi.json)', () =>
    execFileSync('npm', ['run', 'generate'], { cwd: root, stdio: 'inherit' }),
  );
  step(`git commit and tag v${version}`, () => {
    git('commit', '--all', '--message', `chore: release ${version}`);
    git('tag', '--annotate', `v${version}`, '--message', `${version}\n\n${notes}`);
  });
  console.log(`\n${notes}\n\nPush it with: git push origin main v${version}`);
  console.log('The release workflow then builds and publishes the image.');
}

function requireReleasable(current) {
  const wanted = VERSION.exec(version ?? '');
  if (!wanted) throw new Refused('Usage: node scripts/release.mjs VERSION [--dry-run], as in 1.2.3');
  const from = VERSION.exec(current);
  const by = [1, 2, 3].map(part => Number(wanted[part]) - Number(from[part])).find(Boolean);
  const isTagged = git('tag', '--list', `v${version}`) !== '';
  if (isTagged) throw new Refused(`v${version} is released already.`);
  if (by !== undefined && by < 0) throw new Refused(`${version} is older than ${current}.`);
  if (git('status', '--porcelain')) throw new Refused('There are uncommitted changes: commit or stash them.');
  const branch = git('rev-parse', '--abbrev-ref', 'HEAD');
  if (branch !== 'main') throw new Refused(`Releases are made on main; this is ${branch}.`);
}

/** The text below `## [Unreleased]`, up to the next release. */
function unreleased(changelog) {
  return /^## \[Unreleased\]\n([\s\S]*?)(?=^## \[|$(?![\s\S]))/m.exec(changelog)?.[1].trim();
}

function dated(changelog, date) {
  return changelog.replace('## [Unreleased]', `## [Unreleased]\n\n## [${version}] - ${date}`);
}

function setVersion(name) {
  const content = JSON.parse(readFileSync(at(name), 'utf8'));
  content.version = version;
  if (content.packages) content.packages[''].version = version;
  writeFileSync(at(name), `${JSON.stringify(content, null, 2)}\n`);
}

function step(text, act) {
  console.log(`${isDryRun ? 'would' : 'now'}: ${text}`);
  if (!isDryRun) act();
}
