import { setImmediate } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Findings } from '#libs/front-matter/index.js';
import { type Entry, parentOf, type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { type Reading, readSkill, readSubagent, type Skill, type Subagent } from './definitions.js';
import { OVERHEAD, ReadingCache } from './reading-cache.js';

/** The instructions of a workspace for all agents. */
export const INSTRUCTIONS = 'AGENTS.md';
/** Where a workspace keeps its agents. */
export const AGENTS = '.agents';
const MORE_AGENTS = '.agents/agents';
const SKILLS = '.agents/skills';
const SKILL_FILE = 'SKILL.md';
/** Most files of a kind that are read. */
const MAX_AGENTS = 200;
const MAX_SKILLS = 100;
const MAX_FILE_BYTES = 64 * 1024;

/** What is read in every workspace; the rest is below. */
export const SOURCES: readonly string[] = [INSTRUCTIONS, AGENTS];

/** Everything that these contents come from, there or not: a file, the folders above it, and the folders that were listed. */
export function pathsOf({
  agents,
  skills,
}: {
  agents: readonly Reading<Subagent>[];
  skills: readonly Reading<Skill>[];
}): string[] {
  const paths = new Set([...SOURCES, MORE_AGENTS, SKILLS]);
  for (const { path } of [...agents, ...skills]) paths.add(path).add(parentOf(path));
  return [...paths];
}

interface Folder {
  readonly workspaceId: string;
  readonly files: WorkspaceFs;
  /** What is in a folder; undefined where there is none. */
  readonly list: (path: string) => Promise<Entry[] | undefined>;
  /** Takes what is wrong with the folder as a whole. */
  readonly findings: Findings;
}

/** Reads the files in `.agents/` that define agents and skills. What is too large or cannot be read is a finding. */
@Injectable()
export class AgentsFolder {
  /** Settled when the parsing that was asked for so far is done. */
  private parsed: Promise<unknown> = Promise.resolve();

  constructor(private readonly cache: ReadingCache) {}

  /** `top`: what is in the folder. */
  async read(
    folder: Folder,
    top: readonly Entry[],
  ): Promise<{ agents: Reading<Subagent>[]; skills: Reading<Skill>[] }> {
    const hasFolder = (path: string) => top.some(entry => entry.path === path && entry.type === 'directory');
    const deeper = hasFolder(MORE_AGENTS) ? await folder.list(MORE_AGENTS) : undefined;
    const agents = await this.agents(folder, [...top, ...(deeper ?? [])]);
    const skills = hasFolder(SKILLS) ? await this.skills(folder) : [];
    return { agents: withoutTwins(agents, 'agent'), skills: withoutTwins(skills, 'skill') };
  }

  private agents({ findings, ...folder }: Folder, entries: Entry[]): Promise<Reading<Subagent>[]> {
    const found = entries.filter(({ path, type }) => path.endsWith('.md') && type !== 'directory');
    if (found.length > MAX_AGENTS)
      findings.error(`There are ${found.length} agents; only the first ${MAX_AGENTS} are read`);
    return Promise.all(found.slice(0, MAX_AGENTS).map(entry => this.definition(folder, entry, readSubagent)));
  }

  private async skills({ findings, ...folder }: Folder): Promise<Reading<Skill>[]> {
    const folders = ((await folder.list(SKILLS)) ?? []).filter(({ type }) => type === 'directory');
    if (folders.length > MAX_SKILLS)
      findings.error(`There are ${folders.length} skills; only the first ${MAX_SKILLS} are read`);
    const readings = folders.slice(0, MAX_SKILLS).map(async ({ path }) => {
      try {
        return await this.definition(folder, await folder.files.stat(`${path}/${SKILL_FILE}`), readSkill);
      } catch (error) {
        if (!(error instanceof WorkspaceFsError)) throw error;
        return refused<Skill>(path, `There is no ${SKILL_FILE} in this folder`);
      }
    });
    return Promise.all(readings);
  }

  private async definition<T>(
    { workspaceId, files }: Omit<Folder, 'findings'>,
    entry: Entry,
    parse: (path: string, text: string) => Reading<T>,
  ): Promise<Reading<T>> {
    const { path, type, size } = entry;
    if (type !== 'file') return refused(path, 'It is no regular file; links are not followed');
    if (size > MAX_FILE_BYTES)
      return refused(path, `It has ${size} bytes; at most ${MAX_FILE_BYTES} are read`);
    try {
      return await this.cache.of(workspaceId, entry, async () => {
        const { content } = await files.readText(path, { max_bytes: MAX_FILE_BYTES });
        const value = await this.inTurn(() => parse(path, content));
        return { value, weight: OVERHEAD + content.length };
      });
    } catch (error) {
      if (!(error instanceof WorkspaceFsError)) throw error;
      return refused(path, error.message);
    }
  }

  /** One file in each turn of the event loop: some take milliseconds, and there may be hundreds. */
  private inTurn<T>(parse: () => T): Promise<T> {
    const result = this.parsed.then(async () => {
      await setImmediate();
      return parse();
    });
    this.parsed = result.catch(() => undefined);
    return result;
  }
}

function refused<T>(path: string, reason: string): Reading<T> {
  const findings = new Findings(path);
  findings.error(reason);
  const parts = path.split('/');
  const name = (parts.at(-1) === SKILL_FILE ? parts.at(-2) : parts.at(-1))?.replace(/\.md$/, '') ?? path;
  return { path, name, value: null, findings: findings.all };
}

/** The first that defines a name keeps it. */
function withoutTwins<T>(readings: readonly Reading<T>[], kind: string): Reading<T>[] {
  const first = new Map<string, string>();
  return readings.map(reading => {
    const { path, name, value } = reading;
    const taken = value && first.get(name);
    if (value && !taken) first.set(name, path);
    if (!taken) return reading;
    const findings = new Findings(path);
    findings.error(`${taken} defines the ${kind} "${name}" already`, 1, 'Give it another name');
    return { ...reading, value: null, findings: [...reading.findings, ...findings.all] };
  });
}
