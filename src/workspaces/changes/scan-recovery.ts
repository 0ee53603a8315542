import { Injectable, OnModuleInit } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { Chore } from '../../platform/jobs/index.js';
import { Leases } from '../../platform/leases/index.js';
import { Scans } from './scans.js';

const LOOK_MS = 60_000;

/** Ends comparisons whose process is gone, or whose command is long over. */
@Injectable()
export class ScanRecovery implements OnModuleInit {
  constructor(
    private readonly config: Config,
    private readonly leases: Leases,
    private readonly scans: Scans,
  ) {}

  onModuleInit(): void {
    if (this.config.runsJobs) this.leases.recover('scan', () => this.scans.recoverOrphaned());
  }

  @Chore('recover_sandbox_scans', { everyMs: LOOK_MS })
  async recoverOverdue(): Promise<void> {
    await this.scans.recoverOverdue();
    await this.scans.removeStrays();
  }
}
