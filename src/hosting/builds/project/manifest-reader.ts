import path from 'node:path';
import { WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { BuildFailure } from './build-failure.js';

const MAX_MANIFEST_BYTES = 1024 * 1024;
const MAX_LOCK_BYTES = 64 * 1024 * 1024;
const MAX_FILE_BYTES = 256 * 1024;

export type JsonObject = Readonly<Record<string, unknown>>;

/** Files of a project, which nobody trusts: regular files of a sane size, never what a link points to. */
export class ManifestReader {
  private readonly files: WorkspaceFs;

  /**
   * @param root a trusted path
   * @param folder the project's folder, relative to `root` and not trusted
   */
  constructor(
    root: string,
    private readonly folder = '',
  ) {
    this.files = new WorkspaceFs(root, { maxFileBytes: MAX_LOCK_BYTES });
  }

  /** Undefined where there is none; throws BuildFailure for what is no manifest. */
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

  /** A file of settings. */
  settings(at: string): Promise<string | undefined> {
    return this.text(at, MAX_FILE_BYTES);
  }

  async exists(at: string): Promise<boolean> {
    return (await this.files.find(this.within(at))) !== null;
  }

  /** All paths below the project's folder, relative to it, that are regular files. */
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

/** The entries of an object of strings, such as `scripts`; none for anything else. */
export function stringsOf(value: unknown): Map<string, string> {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
