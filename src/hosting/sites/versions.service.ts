import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Database, newId } from '../../platform/database/index.js';
import { ById, DeletedView, ListById, type Page } from '../../platform/dto/index.js';
import { Conflict } from '../../platform/errors/index.js';
import { LongPolls } from '../../platform/streams/index.js';
import { HostedRegistry } from '../gateway/index.js';
import { BuildQueue } from './publishing/build-queue.js';
import { BuildRecorder } from './publishing/build-recorder.js';
import { type SiteRow, SitesStore } from './records/sites.store.js';
import { isOpen } from './records/version-states.js';
import { type VersionRow, VersionsStore, versionTopic } from './records/versions.store.js';
import { SiteViews } from './site-views.js';
import {
  CreateVersion,
  PinVersion,
  PromoteVersion,
  ReadVersion,
  SiteView,
  VersionPage,
  VersionView,
} from './sites.dto.js';

const MAX_QUEUED = 10;
const NO_VERSION = { 404: 'No such site or version' };

@Injectable()
export class VersionsService {
  constructor(
    private readonly database: Database,
    private readonly sites: SitesStore,
    private readonly versions: VersionsStore,
    private readonly hosted: HostedRegistry,
    private readonly recorder: BuildRecorder,
    private readonly queue: BuildQueue,
    private readonly views: SiteViews,
    private readonly polls: LongPolls,
  ) {}

  @Action('site_version_create', {
    on: { id: 'site' },
    summary: 'Build a new version of a site from its folder as it is now',
    description:
      'The answer comes at once; read the version with wait=60 for the end of its build, or stream its log. ' +
      '`promotion` says whether it will go live by itself, and why.',
    effect: 'write',
    permission: 'site.publish',
    input: CreateVersion,
    output: VersionView,
    commitsAnswer: true,
    refuses: { 404: 'No such site', 409: 'Too many versions of the site wait' },
  })
  async create(actor: Actor, { id, auto_promote = false, note }: CreateVersion): Promise<VersionView> {
    await this.hosted.require(actor, 'site.publish', 'site', id);
    const versionId = newId();
    return this.database.transaction(async unit => {
      const site = await this.sites.lock(unit, id);
      const number = await this.sites.nextNumber(unit, id);
      await this.versions.add(unit, {
        id: versionId,
        site_id: id,
        number,
        auto_promote,
        created_by: actor.id,
        chain: actor.chain,
        note: note?.trim() || null,
      });
      await this.versions.cancelOlder(unit, id, number);
      if ((await this.versions.countQueued(unit, id)) > MAX_QUEUED)
        throw new Conflict(
          `${MAX_QUEUED} versions of this site wait to be built; try again when some are done`,
        );
      await this.queue.add(unit, { version_id: versionId, site_id: id });
      await this.hosted.record(unit, actor, 'site.build', site, { number, auto_promote });
      const version = await this.versions.require(id, versionId, unit);
      return unit.answers(this.views.version(site, version));
    });
  }

  @Action('site_version_list', 'GET /api/sites/:id/versions', {
    on: { id: 'site' },
    summary: 'List the versions of a site, newest first',
    permission: 'site.read',
    input: ListById({ id: 'The site' }),
    output: VersionPage,
  })
  async list(actor: Actor, { id, ...input }: ListById): Promise<Page<VersionView>> {
    await this.hosted.require(actor, 'site.read', 'site', id);
    const site = await this.sites.require(id);
    const page = await this.versions.list(id, input);
    return { ...page, items: page.items.map(row => this.views.version(site, row)) };
  }

  @Action('site_version_get', 'GET /api/sites/:id/versions/:versionId', {
    on: { id: 'site' },
    summary: 'Read a version of a site, waiting for the end of its build if asked to',
    permission: 'site.read',
    input: ReadVersion,
    output: VersionView,
    refuses: NO_VERSION,
  })
  async read(actor: Actor, { id, version_id, wait = 0 }: ReadVersion): Promise<VersionView> {
    const read = async () => {
      await this.hosted.require(actor, 'site.read', 'site', id);
      return this.versions.require(id, version_id);
    };
    const isOver = ({ state }: VersionRow) => !isOpen(state);
    const version = await this.polls.wait(versionTopic(version_id), wait, read, isOver);
    return this.views.version(await this.sites.require(id), version);
  }

  @Action('site_version_promote', 'POST /api/sites/:id/versions/:versionId/promote', {
    on: { id: 'site' },
    summary: 'Make a built version live: at once, for everybody, newer or older than what is live',
    description:
      'Going back to an older version pauses automatic promotion, so that the next build does not undo it.',
    effect: 'write',
    permission: 'site.publish',
    input: PromoteVersion,
    output: SiteView,
    commitsAnswer: true,
    refuses: { ...NO_VERSION, 409: 'It is not built, the site is locked, or another version is live by now' },
  })
  async promote(actor: Actor, input: PromoteVersion): Promise<SiteView> {
    const { id, version_id, if_live } = input;
    await this.hosted.require(actor, 'site.publish', 'site', id);
    return this.database.transaction(async unit => {
      const site = await this.sites.lock(unit, id);
      const version = await this.versions.require(id, version_id, unit);
      requirePromotable(site, version);
      if (if_live !== undefined && if_live !== site.live_version_id)
        throw new Conflict('Another version is live by now; look again, then promote');
      const isOlder = version.number < (site.live_number ?? 0);
      const pauses = input.pause_auto_promote ?? (isOlder ? true : undefined);
      if (pauses)
        await this.sites.update(unit, id, {
          paused_at: new Date().toISOString(),
          pause_reason: `Version ${version.number} was promoted ${isOlder ? `over version ${site.live_number}` : 'to stay'}`,
        });
      else if (pauses === false || (await this.versions.isNewest(unit, id, version.number)))
        await this.sites.update(unit, id, { paused_at: null, pause_reason: null });
      const by = { reason: 'It was promoted by hand.', by: actor.id };
      await this.recorder.promote(unit, { site_id: id, version_id }, by);
      const details = { number: version.number, before: site.live_number };
      await this.hosted.record(unit, actor, 'site.promote', site, details);
      return unit.answers(this.views.site(await this.sites.require(id, unit)));
    });
  }

  @Action('site_version_cancel', 'POST /api/sites/:id/versions/:versionId/cancel', {
    on: { id: 'site' },
    summary: 'Cancel the build of a version',
    effect: 'write',
    permission: 'site.publish',
    input: ById({ id: 'The site', version_id: 'The version' }),
    output: VersionView,
    commitsAnswer: true,
    refuses: { ...NO_VERSION, 409: 'Its build is over' },
  })
  async cancel(actor: Actor, { id, version_id }: ById<'id' | 'version_id'>): Promise<VersionView> {
    await this.hosted.require(actor, 'site.publish', 'site', id);
    return this.database.transaction(async unit => {
      const site = await this.sites.lock(unit, id);
      const version = await this.versions.require(id, version_id, unit);
      if (!(await this.versions.cancel(unit, version)))
        throw new Conflict(`Its build is over: the version is ${version.state}`);
      await this.queue.addNext(unit, id);
      await this.hosted.record(unit, actor, 'site.cancel_build', site, { number: version.number });
      return unit.answers(this.views.version(site, await this.versions.require(id, version_id, unit)));
    });
  }

  @Action('site_version_pin', 'PUT /api/sites/:id/versions/:versionId/pin', {
    on: { id: 'site' },
    summary: 'Keep the files of a version however old it gets, or no longer',
    effect: 'write',
    permission: 'site.publish',
    input: PinVersion,
    output: VersionView,
    refuses: { ...NO_VERSION, 409: 'Its files are not there' },
  })
  async pin(actor: Actor, { id, version_id, pinned }: PinVersion): Promise<VersionView> {
    await this.hosted.require(actor, 'site.publish', 'site', id);
    return this.database.transaction(async unit => {
      const site = await this.sites.lock(unit, id);
      const version = await this.versions.require(id, version_id, unit);
      if (version.state !== 'built') throw new Conflict('Only versions that are built can be pinned');
      await this.versions.pin(unit, version_id, pinned);
      await this.hosted.record(unit, actor, 'site.pin', site, { number: version.number, pinned });
      return unit.answers(this.views.version(site, { ...version, pinned }));
    });
  }

  @Action('site_version_delete', 'DELETE /api/sites/:id/versions/:versionId', {
    on: { id: 'site' },
    summary: 'Delete a version that is not live',
    consequence: 'The version cannot go live again, and its own address ends.',
    permission: 'site.publish',
    input: ById({ id: 'The site', version_id: 'The version' }),
    output: DeletedView,
    refuses: { ...NO_VERSION, 409: 'It is live, or being built' },
  })
  async delete(actor: Actor, { id, version_id }: ById<'id' | 'version_id'>): Promise<DeletedView> {
    await this.hosted.require(actor, 'site.publish', 'site', id);
    await this.database.transaction(async unit => {
      const site = await this.sites.lock(unit, id);
      const version = await this.versions.require(id, version_id, unit);
      if (site.live_version_id === version_id)
        throw new Conflict('The version is live; promote another one first');
      if (isOpen(version.state)) throw new Conflict('Its build is under way; cancel it first');
      await this.versions.remove(unit, version_id);
      await this.sites.update(unit, id, {});
      await this.hosted.record(unit, actor, 'site.delete_version', site, { number: version.number });
    });
    return DeletedView.of(version_id);
  }
}

function requirePromotable(site: SiteRow, { state, number }: VersionRow): void {
  if (state !== 'built') throw new Conflict(`Version ${number} is ${state}; only a built one can go live`);
  if (site.locked_at !== null) {
    const reason = site.lock_reason ? ` (${site.lock_reason})` : '';
    throw new Conflict(`The site is locked${reason}; unlock it first`);
  }
}
