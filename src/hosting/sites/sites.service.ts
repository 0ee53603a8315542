import { Injectable, OnModuleInit } from '@nestjs/common';
import { normalizePath, workspacePath } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Config } from '../../platform/config/index.js';
import { Database } from '../../platform/database/index.js';
import { ById, DeletedView, type Page, pageById } from '../../platform/dto/index.js';
import { Conflict } from '../../platform/errors/index.js';
import { ListAcrossWorkspaces } from '../../workspaces/core/index.js';
import { HostedRegistry } from '../gateway/index.js';
import { BuildQueue } from './publishing/build-queue.js';
import { type SiteChanges, SitesStore } from './records/sites.store.js';
import { SiteViews } from './site-views.js';
import { CreateSite, LockSite, SitePage, SiteView, UpdateSite } from './sites.dto.js';

@Injectable()
export class SitesService implements OnModuleInit {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly sites: SitesStore,
    private readonly hosted: HostedRegistry,
    private readonly views: SiteViews,
    private readonly queue: BuildQueue,
  ) {}

  onModuleInit(): void {
    this.hosted.addKind('site', id => this.sites.find(id));
  }

  @Action('site_list', 'GET /api/sites', {
    summary: 'List the sites in the workspaces that the caller sees, or in one of them',
    permission: 'site.read',
    input: ListAcrossWorkspaces,
    output: SitePage,
    refuses: { 404: 'No such workspace' },
  })
  async list(actor: Actor, input: ListAcrossWorkspaces): Promise<Page<SiteView>> {
    await this.hosted.requireListing(actor, 'site.read', input.workspace_id);
    return pageById(this.sites.visible(actor, input.workspace_id), input, row => this.views.site(row), {
      by: 's.id',
    });
  }

  @Action('site_create', 'POST /api/sites', {
    summary: 'Make a site of a folder; it is empty until a version is built and goes live',
    effect: 'write',
    permission: 'site.publish',
    input: CreateSite,
    output: SiteView,
    commitsAnswer: true,
    refuses: {
      404: 'No such workspace',
      409: 'The slug is taken, the workspace has as many sites as it may, or there is no domain for sites',
    },
  })
  async create(actor: Actor, input: CreateSite): Promise<SiteView> {
    const { sites: most } = this.config.workspaceLimits;
    const draft = await this.hosted.draft(actor, 'site.publish', 'site', input);
    const { id, name, slug } = draft;
    return this.database.transaction(async unit => {
      await this.hosted.lockWorkspace(unit, actor, 'site.publish', draft.workspace_id);
      if ((await this.sites.count(unit, draft.workspace_id)) >= most)
        throw new Conflict(`The workspace has ${most} sites, as many as it may; delete one`);
      await this.sites.add(unit, { ...draft, ...readSettings(input), folder: workspacePath(input.folder) });
      await this.hosted.claim(unit, 'site', draft);
      const site = await this.sites.require(id, unit);
      await this.hosted.record(unit, actor, 'site.create', site, { name, slug, folder: site.folder });
      return unit.answers(this.views.site(site));
    });
  }

  @Action('site_get', 'GET /api/sites/:id', {
    on: { id: 'site' },
    summary: 'Read a site',
    permission: 'site.read',
    input: ById({ id: 'The site' }),
    output: SiteView,
  })
  async read(actor: Actor, { id }: ById): Promise<SiteView> {
    await this.hosted.require(actor, 'site.read', 'site', id);
    return this.views.site(await this.sites.require(id));
  }

  @Action('site_update', 'PATCH /api/sites/:id', {
    on: { id: 'site' },
    summary: 'Change a site: its name, slug, folder, how it is built, and which actions its viewers may run',
    description: 'What is live stays as it is; how it is built counts from the next version on.',
    effect: 'write',
    permission: 'site.publish',
    input: UpdateSite,
    output: SiteView,
    refuses: { 409: 'The slug is taken' },
  })
  async update(actor: Actor, input: UpdateSite): Promise<SiteView> {
    const { id, name, slug, actions } = input;
    await this.hosted.require(actor, 'site.publish', 'site', id);
    if (actions) this.hosted.requireActions(actions);
    await this.database.transaction(async unit => {
      const site = await this.sites.lock(unit, id);
      const changes: SiteChanges = {
        ...readSettings(input),
        ...(input.folder !== undefined && { folder: workspacePath(input.folder) }),
        ...(name !== undefined && { name: name.trim() }),
        ...(slug !== undefined && { slug }),
        ...(actions && { actions: [...new Set(actions)], actions_actor: actor }),
        ...(input.actions_public !== undefined && { actions_public: input.actions_public }),
      };
      await this.hosted.rename(unit, 'site', site, { name, slug });
      await this.sites.update(unit, id, changes);
      const { actions_actor: _actor, ...details } = changes;
      await this.hosted.record(unit, actor, 'site.update', site, details);
    });
    return this.read(actor, { id });
  }

  @Action('site_delete', 'DELETE /api/sites/:id', {
    on: { id: 'site' },
    summary: 'Delete a site with all its versions; its folder in the workspace stays',
    consequence: 'Its pages are gone at once, and no other workspace gets its slug for 30 days.',
    permission: 'site.publish',
    input: ById({ id: 'The site' }),
    output: DeletedView,
  })
  async delete(actor: Actor, { id }: ById): Promise<DeletedView> {
    await this.hosted.require(actor, 'site.publish', 'site', id);
    await this.database.deletion(async unit => {
      const site = await this.sites.lock(unit, id);
      await this.hosted.release(unit, 'site', id);
      await this.sites.remove(unit, id);
      await this.queue.addRemoval(unit, id);
      const { name, slug } = site;
      await this.hosted.record(unit, actor, 'site.delete', site, { name, slug });
    });
    return DeletedView.of(id);
  }

  @Action('site_lock', 'POST /api/sites/:id/lock', {
    on: { id: 'site' },
    summary: 'Lock a site: versions are still built, and none goes live, by hand neither',
    effect: 'write',
    permission: 'site.publish',
    input: LockSite,
    output: SiteView,
    commitsAnswer: true,
  })
  async lock(actor: Actor, { id, reason }: LockSite): Promise<SiteView> {
    const locked = { locked_at: new Date().toISOString(), locked_by: actor.id, lock_reason: reason ?? null };
    return this.change(actor, id, 'site.lock', locked, { reason: reason ?? null });
  }

  @Action('site_unlock', 'POST /api/sites/:id/unlock', {
    on: { id: 'site' },
    summary: 'Unlock a site',
    effect: 'write',
    permission: 'site.publish',
    input: ById({ id: 'The site' }),
    output: SiteView,
    commitsAnswer: true,
  })
  async unlock(actor: Actor, { id }: ById): Promise<SiteView> {
    return this.change(actor, id, 'site.unlock', { locked_at: null, locked_by: null, lock_reason: null });
  }

  @Action('site_auto_promote_resume', 'POST /api/sites/:id/auto-promote/resume', {
    on: { id: 'site' },
    summary: 'Let newer versions go live by themselves again',
    effect: 'write',
    permission: 'site.publish',
    input: ById({ id: 'The site' }),
    output: SiteView,
    commitsAnswer: true,
  })
  async resume(actor: Actor, { id }: ById): Promise<SiteView> {
    return this.change(actor, id, 'site.resume_auto_promote', { paused_at: null, pause_reason: null });
  }

  private async change(
    actor: Actor,
    id: string,
    action: `site.${string}`,
    changes: SiteChanges,
    details: Record<string, unknown> = {},
  ): Promise<SiteView> {
    await this.hosted.require(actor, 'site.publish', 'site', id);
    return this.database.transaction(async unit => {
      const site = await this.sites.lock(unit, id);
      await this.sites.update(unit, id, changes);
      await this.hosted.record(unit, actor, action, site, details);
      return unit.answers(this.views.site(await this.sites.require(id, unit)));
    });
  }
}

function readSettings(input: Partial<CreateSite>): SiteChanges {
  const { preset, install_command, build_command, output_dir, spa, node_memory } = input;
  const given = Object.entries({ preset, install_command, build_command, spa, node_memory }).filter(
    ([, value]) => value !== undefined,
  );
  return {
    ...Object.fromEntries(given),
    ...(output_dir !== undefined && { output_dir: output_dir === null ? null : normalizePath(output_dir) }),
  };
}
