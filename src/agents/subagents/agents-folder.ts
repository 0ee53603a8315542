import { setImmediate } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { type Finding, Findings } from '#libs/front-matter/index.js';
import { type Entry, type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { SharedLookups } from '../../platform/access/index.js';
import { WorkspaceFolders } from '../../workspaces/core/index.js';
import { type Reading, readSkill, readSubagent, type Skill, type Subagent } from './definitions.js';
import { ReadingCache } from './reading-cache.js';

const INSTRUCTIONS = 'AGENTS.md';
/** Where a workspace keeps its agents. */
const AGENTS = '.agents';
const MORE_AGENTS = '.agents/agents';
const SKILLS = '.agents/skills';
const SKILL_FILE = 'SKILL.md';
/** Most files of a kind that are read. */
const MAX_AGENTS = 200;
const MAX_SKILLS = 100;
const MAX_FILE_BYTES = 64 * 1024;
/** Of AGENTS.md, which goes into every prompt. */
const MAX_INSTRUCTION_BYTES = 32 * 1024;
/** What a cached reading weighs besides its text. */
const OVERHEAD = 500;

type WorkspaceFolder = Parameters<WorkspaceFolders['open']>[0];

/** The AGENTS.md of a workspace, cut off where it is too long. */
export interface WorkspaceInstructions {
  readonly path: string;
  readonly text: string;
  readonly bytes: number;
  readonly truncated: boolean;
}

/** The instructions, agents and skills of a workspace. */
export interface AgentsFolderContents {
  readonly instructions: WorkspaceInstructions | null;
  readonly agents: readonly Reading<Subagent>[];
  readonly skills: readonly Reading<Skill>[];
  /** About what is no agent and no skill. */
  readonly findings: readonly Finding[];
}

/**
 * Reads AGENTS.md and `.agents/` as they are now. Whatever is there is only text: links are not followed, and what is
 * too large or cannot be read is a finding. Files that did not change are not read again.
 */
@Injectable()
export class AgentsFolder {
  private readonly cache = new ReadingCache();
  private readonly readings = new SharedLookups<AgentsFolderContents>();
  /** Settled when the parsing that was asked for so far is done. */
  private parsed: Promise<unknown> = Promise.resolve();

  constructor(private readonly folders: WorkspaceFolders) {}

  /** Those who ask at the same time share a reading that begins after all of them asked. */
  read(workspace: WorkspaceFolder): Promise<AgentsFolderContents> {
    return this.readings.get(workspace.id, () => this.readNow(workspace));
  }

  private async readNow(workspace: WorkspaceFolder): Promise<AgentsFolderContents> {
    const files = this.folders.open(workspace);
    return new FolderReading(workspace.id, files, this.cache, parse => this.inTurn(parse)).contents();
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

/** One reading of a workspace. */
class FolderReading {
  private readonly findings = new Findings(AGENTS);

  constructor(
    private readonly workspaceId: string,
    private readonly files: WorkspaceFs,
    private readonly cache: ReadingCache,
    private readonly inTurn: <T>(parse: () => T) => Promise<T>,
  ) {}

  async contents(): Promise<AgentsFolderContents> {
    const [instructions, top] = await Promise.all([this.instructions(), this.listed(AGENTS)]);
    const { all: findings } = this.findings;
    if (!top) return { instructions, agents: [], skills: [], findings };
    const hasFolder = (folder: string) =>
      top.some(({ path, type }) => path === folder && type === 'directory');
    const deeper = hasFolder(MORE_AGENTS) ? await this.listed(MORE_AGENTS) : undefined;
    const agents = await this.agents([...top, ...(deeper ?? [])]);
    const skills = hasFolder(SKILLS) ? await this.skills() : [];
    return {
      instructions,
      agents: withoutTwins(agents, 'agent'),
      skills: withoutTwins(skills, 'skill'),
      findings,
    };
  }

  private async instructions(): Promise<WorkspaceInstructions | null> {
    try {
      const entry = await this.files.stat(INSTRUCTIONS);
      if (entry.type !== 'file') {
        this.findings.warn(`${INSTRUCTIONS} is not read: it is no regular file`);
        return null;
      }
      return await this.cache.of(this.workspaceId, entry, async () => {
        const options = { max_bytes: MAX_INSTRUCTION_BYTES };
        const { content, size } = await this.files.readText(INSTRUCTIONS, options);
        const truncated = Buffer.byteLength(content) < size;
        const value = { path: INSTRUCTIONS, text: content.trim(), bytes: size, truncated };
        return { value, weight: OVERHEAD + content.length };
      });
    } catch (error) {
      if (!(error instanceof WorkspaceFsError)) throw error;
      if (error.code !== 'not_found') this.findings.warn(`${INSTRUCTIONS} is not read: ${error.message}`);
      return null;
    }
  }

  private agents(entries: Entry[]): Promise<Reading<Subagent>[]> {
    const found = entries.filter(({ path, type }) => path.endsWith('.md') && type !== 'directory');
    if (found.length > MAX_AGENTS)
      this.findings.error(`There are ${found.length} agents; only the first ${MAX_AGENTS} are read`);
    return Promise.all(found.slice(0, MAX_AGENTS).map(entry => this.definition(entry, readSubagent)));
  }

  private async skills(): Promise<Reading<Skill>[]> {
    const folders = ((await this.listed(SKILLS)) ?? []).filter(({ type }) => type === 'directory');
    if (folders.length > MAX_SKILLS)
      this.findings.error(`There are ${folders.length} skills; only the first ${MAX_SKILLS} are read`);
    const readings = folders.slice(0, MAX_SKILLS).map(async ({ path }) => {
      try {
        return await this.definition(await this.files.stat(`${path}/${SKILL_FILE}`), readSkill);
      } catch (error) {
        if (!(error instanceof WorkspaceFsError)) throw error;
        return refused<Skill>(path, `There is no ${SKILL_FILE} in this folder`);
      }
    });
    return Promise.all(readings);
  }

  private async definition<T>(
    entry: Entry,
    parse: (path: string, text: string) => Reading<T>,
  ): Promise<Reading<T>> {
    const { path, type, size } = entry;
    if (type !== 'file') return refused(path, 'It is no regular file; links are not followed');
    if (size > MAX_FILE_BYTES)
      return refused(path, `It has ${size} bytes; at most ${MAX_FILE_BYTES} are read`);
    return this.cache.of(this.workspaceId, entry, async () => {
      try {
        const { content } = await this.files.readText(path, { max_bytes: MAX_FILE_BYTES });
        const value = await this.inTurn(() => parse(path, content));
        return { value, weight: OVERHEAD + content.length };
      } catch (error) {
        if (!(error instanceof WorkspaceFsError)) throw error;
        return { value: refused<T>(path, error.message), weight: OVERHEAD };
      }
    });
  }

  /** What is in a folder; undefined where there is none. */
  private async listed(path: string): Promise<Entry[] | undefined> {
    try {
      return (await this.files.list(path, { limit: 1000 })).entries;
    } catch (error) {
      if (error instanceof WorkspaceFsError) return undefined;
      throw error;
    }
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
