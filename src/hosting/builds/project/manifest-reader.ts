import path from 'node:path';
import { WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { BuildFailure } from './build-failure.js';

const MAX_MANIFEST_BYTES = 1024 * 1024;
const MAX_LOCK_BYTES = 64 * 1024 * 1024;
const MAX_FILE_BYTES = 256 * 1024;

export type JsonObject = Readonly<Record<string, unknown>>;

/** Reads files of an untrusted project: regular files of limited size, never through links. */
export class ManifestReader {
  private readonly files: WorkspaceFs;

  /** @param root a trusted path; `folder` is relative to it, and not trusted */
  constructor(
    root: string,
    private readonly folder = '',
  ) {
    this.files = new WorkspaceFs(root, { maxFileBytes: MAX_LOCK_BYTES });
  }

  /** Undefined if there is none. Throws BuildFailure if it is invalid. */
  async manifest(at: string): Promise<JsonObject | undefined> {
    const text = await this.text(at, MAX_MANIFEST_BYTES);
    if (text === undefined) return undefined;
    const value = parsed(at, text);
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new BuildFailure(`${at} must hold an object, such as {"scripts": {"build": "vite build"}}.`);
    return value as JsonObject;
  }

  lock(at: string): Promise<string | undefined> {
    return this.text(at, MAX_LOCK_BYTES);
  }

  settings(at: string): Promise<string | undefined> {
    return this.text(at, MAX_FILE_BYTES);
  }

  async exists(at: string): Promise<boolean> {
    return (await this.files.find(this.within(at))) !== null;
  }

  /** Paths of all regular files, relative to the project's folder. */
  async list(): Promise<string[]> {
    const entries = await this.files.listAll(this.folder);
    const files = entries.filter(({ type }) => type === 'file');
    return files.map(({ path: at }) => path.posix.relative(this.folder, at));
  }

  private within(at: string): string {
    return path.posix.join(this.folder, at);
  }

  private async text(at: string, max: number): Promise<string | undefined> {
    try {
      const bytes = await this.files.readBytes(this.within(at), max);
      return bytes.toString('utf8').replace(/^\u{feff}/u, '');
    } catch (error) {
      if (!(error instanceof WorkspaceFsError)) throw error;
      if (error.code === 'not_found') return undefined;
      throw new BuildFailure(`${error.message}.`, { cause: error });
    }
  }
}

function parsed(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new BuildFailure(`${file} is no JSON: ${(error as Error).message}.`, { cause: error });
  }
}

export function readStrings(value: unknown): Map<string, string> {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
