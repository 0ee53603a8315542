import { WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { BuildFailure } from './build-failure.js';

const MAX_MANIFEST_BYTES = 1024 * 1024;
const MAX_LOCK_BYTES = 64 * 1024 * 1024;
const MAX_FILE_BYTES = 256 * 1024;

export type JsonObject = Readonly<Record<string, unknown>>;

/** Files of a project, which nobody trusts: regular files of a sane size, never what a link points to. */
export class ManifestReader {
  readonly files: WorkspaceFs;

  /** @param folder a trusted path */
  constructor(folder: string) {
    this.files = new WorkspaceFs(folder, { maxFileBytes: MAX_LOCK_BYTES });
  }

  /** Undefined where there is none; throws BuildFailure for what is no manifest. */
  async manifest(path: string): Promise<JsonObject | undefined> {
    const text = await this.text(path, MAX_MANIFEST_BYTES);
    if (text === undefined) return undefined;
    const value = parsed(path, text);
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new BuildFailure(`${path} must hold an object, such as {"scripts": {"build": "vite build"}}.`);
    return value as JsonObject;
  }

  lock(path: string): Promise<string | undefined> {
    return this.text(path, MAX_LOCK_BYTES);
  }

  /** A file of settings. */
  settings(path: string): Promise<string | undefined> {
    return this.text(path, MAX_FILE_BYTES);
  }

  async exists(path: string): Promise<boolean> {
    return (await this.files.find(path)) !== null;
  }

  private async text(path: string, max: number): Promise<string | undefined> {
    try {
      const bytes = await this.files.readBytes(path, max);
      return bytes.toString('utf8').replace(/^\u{feff}/u, '');
    } catch (error) {
      if (!(error instanceof WorkspaceFsError)) throw error;
      if (error.code === 'not_found') return undefined;
      throw new BuildFailure(`${error.message}.`, { cause: error });
    }
  }
}

function parsed(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new BuildFailure(`${path} is no JSON: ${(error as Error).message}.`, { cause: error });
  }
}

/** The entries of an object of strings, such as `scripts`; none for anything else. */
export function stringsOf(value: unknown): Map<string, string> {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
