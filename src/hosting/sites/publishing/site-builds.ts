import { BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { ConcurrencyLimit } from '#libs/concurrency-limit/index.js';
import { WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { Config } from '../../../platform/config/index.js';
import { InsufficientStorage, problemOf } from '../../../platform/errors/index.js';
import type { Attempt } from '../../../platform/jobs/index.js';
import { Log } from '../../../platform/log/index.js';
import { BuildFailure } from '../../builds/index.js';
import { BuildLogStore } from '../records/build-log.store.js';
import type { VersionIds } from '../records/site-events.js';
import { type SiteRow, SitesStore } from '../records/sites.store.js';
import { type BuildAttempt, VersionsStore } from '../records/versions.store.js';
import { BuildRecorder } from './build-recorder.js';
import { BuildReports } from './build-reports.js';
import { SiteBuild } from './site-build.js';

/** How often a build is repeated after its process was lost. */
const MAX_LOSSES = 1;
const HANDOVER_MS = 500;
const RETRY_MS = 2000;

/** Builds versions, one per site at a time, and records how they end. */
@Injectable()
export class SiteBuilds implements BeforeApplicationShutdown {
  private readonly limit: ConcurrencyLimit;
  private readonly active = new Map<string, Promise<unknown>>();
  private readonly closing = new AbortController();

  constructor(
    config: Config,
    private readonly sites: SitesStore,
    private readonly versions: VersionsStore,
    private readonly lines: BuildLogStore,
    private readonly build: SiteBuild,
    private readonly recorder: BuildRecorder,
    private readonly log: Log,
  ) {
    this.limit = new ConcurrencyLimit(config.siteBuildLimits.at_once);
  }

  async run({ version_id: id, site_id }: VersionIds, { signal }: Attempt): Promise<number | undefined> {
    // Given up a moment ago, it may come back before the queue of this process is closed: it is for another one.
    if (this.closing.signal.aborted) return HANDOVER_MS;
    const site = await this.sites.find(site_id);
    if (!site) return undefined;
    // A job may come twice: the queue gives it again to whoever took over a lost build.
    if (this.active.has(id)) return undefined;
    const stopping = AbortSignal.any([signal, this.closing.signal]);
    const whose = [site.organization_id, site.id];
    const work = this.limit.run(() => this.begin(site, id, stopping), { whose, signal: stopping });
    this.active.set(id, work);
    try {
      return await work;
    } catch (error) {
      if (stopping.aborted) return 0;
      throw error;
    } finally {
      this.active.delete(id);
    }
  }

  /** Gives up running builds while the database is still reachable, so that others repeat them. */
  async beforeApplicationShutdown(): Promise<void> {
    this.closing.abort(new Error('The service is stopping'));
    await Promise.allSettled(this.active.values());
  }

  async remove({ site_id }: { site_id: string }): Promise<void> {
    if (!(await this.sites.find(site_id))) await this.build.forget(site_id);
  }

  private async begin(site: SiteRow, id: string, stopping: AbortSignal): Promise<number | undefined> {
    const attempt = await this.versions.claim(id);
    if (!attempt) {
      // The process that has it may be gone, and not known to be yet. One of another version starts this one at its end.
      const version = await this.versions.find(site.id, id);
      return version?.state === 'building' ? RETRY_MS : undefined;
    }
    const started = performance.now();
    const cancelled = this.watch(attempt);
    const reports = new BuildReports(attempt, this.versions, this.lines, this.log);
    try {
      await this.perform(site, attempt, reports, AbortSignal.any([stopping, cancelled.signal]));
    } catch (error) {
      await this.settle(attempt, error, { reports, stopping, cancelled: cancelled.signal });
      await this.build.measure(site);
    } finally {
      cancelled.close();
      await reports.end();
      await this.build.clean(id);
      await this.recorder.charge(site, attempt, (performance.now() - started) / 1000);
    }
    return undefined;
  }

  private async perform(
    site: SiteRow,
    attempt: BuildAttempt,
    reports: BuildReports,
    signal: AbortSignal,
  ): Promise<void> {
    if (attempt.losses > MAX_LOSSES)
      throw new BuildFailure(
        'The process that built it was lost twice. It may take more memory than there is.',
      );
    if (attempt.losses > 0) reports.say('The process that built it was lost; the build begins anew.');
    const built = await this.build.run(site, attempt.id, reports, signal);
    const outcome = await this.recorder.built(attempt, built);
    if (outcome)
      reports.say(`Built: ${count(built.files, 'file')}, ${count(built.bytes, 'byte')}. ${outcome.reason}`);
  }

  private async settle(
    attempt: BuildAttempt,
    error: unknown,
    {
      reports,
      stopping,
      cancelled,
    }: { reports: BuildReports; stopping: AbortSignal; cancelled: AbortSignal },
  ): Promise<void> {
    // Whoever cancelled it, or took it over, has written what there is to say.
    if (cancelled.aborted) return;
    const reason = stopping.aborted ? undefined : explain(error);
    if (reason === undefined) {
      await this.versions.requeue(attempt);
      throw error;
    }
    reports.say(reason);
    await this.recorder.failed(attempt, reason);
  }

  /** The signal is aborted when the attempt becomes outdated. */
  private watch(attempt: BuildAttempt): { signal: AbortSignal; close: () => void } {
    const lost = new AbortController();
    const look = async () => {
      try {
        if (!(await this.versions.isCurrent(attempt))) lost.abort(new Error('The build was cancelled'));
      } catch (error) {
        this.log.warn({ err: error, site_version_id: attempt.id }, 'whether a build goes on is not known');
      }
    };
    const close = this.versions.watch(attempt, () => void look());
    return { signal: lost.signal, close };
  }
}

const count = (n: number, noun: string) => `${n} ${noun}${n === 1 ? '' : 's'}`;

/** Explanation for people; undefined for errors worth a retry. */
function explain(error: unknown): string | undefined {
  if (error instanceof BuildFailure) return error.reason;
  if (problemOf(error) instanceof InsufficientStorage)
    return 'The disk of the service is full: nothing was published, and what is live stays.';
  if (error instanceof WorkspaceFsError) return `${error.message}.`;
  return undefined;
}
