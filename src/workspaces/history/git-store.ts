import { Injectable } from '@nestjs/common';
import { GitHistory, type HistoryHost } from '#libs/git-history/index.js';
import { SandboxFailure } from '#libs/sandbox/index.js';
import { Config } from '../../platform/config/index.js';
import { Unavailable } from '../../platform/errors/index.js';
import { WorkspaceFolders } from '../core/index.js';
import { SandboxesService } from '../sandboxes/index.js';

export interface RepositoryOf {
  readonly id: string;
  readonly number: number;
}

/** How long a fault is cached. */
const FAULT_MS = 60_000;
const IDENTITY = {
  name: 'Atelier',
  email: 'history@atelier',
  namespace: 'atelier',
  temporaries: '.atelier-*',
};

/** Histories outside of the workspaces. Git runs in a sandbox of its own, as what it reads may have been made to harm. */
@Injectable()
export class GitStore {
  private known: { fault: string | null; until: number } | undefined;

  constructor(
    private readonly config: Config,
    private readonly sandboxes: SandboxesService,
    private readonly folders: WorkspaceFolders,
  ) {}

  /** Null where there is a history. */
  async fault(): Promise<string | null> {
    if (this.config.retentionDays.history === 0)
      return 'The history of files is switched off here (RETENTION_DAYS has history=0)';
    if (this.known && (this.known.fault === null || this.known.until > Date.now())) return this.known.fault;
    const fault = await this.look().catch(faultOf);
    this.known = { fault, until: Date.now() + FAULT_MS };
    return fault;
  }

  async require(): Promise<void> {
    const fault = await this.fault();
    if (fault !== null) throw new Unavailable(fault);
  }

  of(workspace: RepositoryOf): GitHistory {
    const host: HistoryHost = {
      open: () => this.folders.openHistory(workspace),
      run: ({ limits, ...program }) =>
        this.sandboxes.runProgram({
          ...program,
          workspace: this.folders.historyOf(workspace),
          owner: this.folders.ownerOf(workspace),
          limits: {
            memoryBytes: this.config.sandboxLimits.memory,
            fileBytes: Number.POSITIVE_INFINITY,
            ...limits,
          },
        }),
    };
    return new GitHistory(host, IDENTITY);
  }

  private async look(): Promise<string | null> {
    return (await this.sandboxes.fault()) ?? this.of({ id: 'probe', number: 0 }).fault();
  }
}

/** Without a sandbox there is no history, which is no reason to refuse anything else. */
function faultOf(error: unknown): string {
  if (error instanceof SandboxFailure) return `There is no history of files here: ${error.message}`;
  throw error;
}
