import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { WorkspaceFsOptions } from './tree.js';
import { WorkspaceFs } from './workspace-fs.js';

export const CANARY = 'CANARY-7f3a: nobody inside may read or change this';

/** A workspace in a temporary folder, beside a folder that nothing may reach. */
export class TestWorkspace {
  private constructor(
    private readonly base: string,
    readonly fs: WorkspaceFs,
  ) {}

  static async make(options: Partial<WorkspaceFsOptions> = {}): Promise<TestWorkspace> {
    const base = await mkdtemp(join(tmpdir(), 'workspace-fs-'));
    const fs = await WorkspaceFs.create(join(base, 'workspace'), { maxFileBytes: 1024 * 1024, ...options });
    await mkdir(join(base, 'outside', 'sub'), { recursive: true });
    await writeFile(join(base, 'outside', 'canary.txt'), CANARY);
    await writeFile(join(base, 'outside', 'sub', 'canary.txt'), CANARY);
    return new TestWorkspace(base, fs);
  }

  /** Where a path of the workspace is on this machine. */
  at(path: string): string {
    return join(this.base, 'workspace', path);
  }

  outside(path = ''): string {
    return join(this.base, 'outside', path);
  }

  /** Puts a file there as a sandbox would, behind the service's back. */
  async put(path: string, content: string | Uint8Array = ''): Promise<void> {
    await mkdir(dirname(this.at(path)), { recursive: true });
    await writeFile(this.at(path), content);
  }

  has(path: string): boolean {
    return existsSync(this.at(path));
  }

  /** Every name in the workspace, hidden ones too. */
  names(): string[] {
    return readdirSync(this.at(''), { recursive: true, encoding: 'utf8' }).sort();
  }

  remove(): Promise<void> {
    return rm(this.base, { recursive: true, force: true });
  }
}

/** Descriptors that this process has open on files of test workspaces; others come and go. */
export function openDescriptors(): number {
  if (process.platform !== 'linux') return 0;
  return readdirSync('/proc/self/fd').filter(name => targetOf(name).includes('/workspace-fs-')).length;
}

/** The descriptor that read the list is closed by now. */
function targetOf(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return '';
  }
}
