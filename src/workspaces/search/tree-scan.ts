import { Inject, Injectable } from '@nestjs/common';
import { literalsOf, SKIPPED_FOLDERS } from '#libs/workspace-fs/index.js';
import { SandboxesService } from '../sandboxes/sandboxes.service.js';
import type { VisibleWorkspace } from '../workspaces/index.js';

/** What to look for below a folder. */
export interface ScanQuery {
  q: string;
  path: string;
  regex?: boolean;
  case_sensitive?: boolean;
  ignored?: boolean;
  signal?: AbortSignal;
}

interface Listed {
  path: string;
  type: 'file' | 'directory' | 'symlink' | 'other';
}

const TYPES: Record<string, Listed['type']> = { f: 'file', d: 'directory', l: 'symlink' };

/**
 * Narrows a search down with the system's own grep and find, which read many small files ten times faster than Node can.
 * They run in a sandbox, as the tree may be hostile; what they name is checked by who asked. Null where they cannot help.
 */
@Injectable()
export class TreeScan {
  constructor(@Inject(SandboxesService) private readonly sandboxes: SandboxesService) {}

  /** Text files that may hold a match: every one that does, and others. */
  async filesWith(workspace: VisibleWorkspace, query: ScanQuery): Promise<string[] | null> {
    const { q, path, regex, case_sensitive, ignored } = query;
    const literals = regex ? literalsOf(q) : [q];
    if (!literals) return null;
    const skipped = ignored ? [] : SKIPPED_FOLDERS.map(name => `--exclude-dir=${name}`);
    const patterns = literals.flatMap(literal => ['-e', literal]);
    const argv = ['grep', '-rIlZFs', ...(case_sensitive ? [] : ['-i']), ...skipped, ...patterns, '.'];
    const found = await this.scan(workspace, argv, query);
    return found?.map(name => below(path, name.slice('./'.length))) ?? null;
  }

  /** Everything below the folder. */
  async everything(workspace: VisibleWorkspace, query: ScanQuery): Promise<Listed[] | null> {
    const isSkipped = SKIPPED_FOLDERS.flatMap((name, at) => [...(at === 0 ? [] : ['-o']), '-name', name]);
    const left = query.ignored
      ? []
      : ['(', ...isSkipped, ')', '-type', 'd', '-printf', '%y%P\\0', '-prune', '-o'];
    const argv = ['find', '.', '-mindepth', '1', ...left, '-printf', '%y%P\\0'];
    const found = await this.scan(workspace, argv, query);
    return (
      found?.map(entry => ({
        path: below(query.path, entry.slice(1)),
        type: TYPES[entry.charAt(0)] ?? 'other',
      })) ?? null
    );
  }

  private async scan(
    workspace: VisibleWorkspace,
    argv: string[],
    { path, signal }: ScanQuery,
  ): Promise<string[] | null> {
    const output = await this.sandboxes.look(workspace, { argv, cwd: path, signal });
    return output?.split('\0').slice(0, -1) ?? null;
  }
}

const below = (folder: string, path: string) => (folder === '' ? path : `${folder}/${path}`);
