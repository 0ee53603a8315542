import { Injectable, OnModuleInit } from '@nestjs/common';
import { didYouMean } from '#libs/did-you-mean/index.js';
import { normalizePath, workspacePath } from '#libs/workspace-fs/index.js';
import { type Actor, requireScope } from '../../platform/access/index.js';
import { Action, ActionCatalog } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Config } from '../../platform/config/index.js';
import { Database, newId } from '../../platform/database/index.js';
import { DEFAULT_LIMIT, DeletedView, decodeCursor, type Page, pageOf } from '../../platform/dto/index.js';
import { Conflict, Invalid } from '../../platform/errors/index.js';
import { Jobs } from '../../platform/jobs/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { HostedTargets, HostNames, slugOf } from '../hosts/index.js';
import { removeSite } from './publishing/site-jobs.js';
import { type SiteChanges, type SiteRow, SitesStore } from './records/sites.store.js';
import { SiteViews } from './site-views.js';
import { CreateSite, ListSites, LockSite, SiteId, SitePage, SiteView, UpdateSite } from './sites.dto.js';

const MAX_RANDOM = 36 ** 4;

/** Sites: what they are made of, where they are, and what keeps versions from going live. */
@Injectable()
export class SitesService implements OnModuleInit {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly sites: SitesStore,
    private readonly workspaces: WorkspacesStore,
    private readonly names: HostNames,
    private readonly targets: HostedTargets,
    private readonly views: SiteViews,
    private readonly catalog: ActionCatalog,
    private readonly jobs: Jobs,
    private readonly audit: Audit,
  ) {}

  onModuleInit(): void {
    this.targets.add({
      kind: 'site',
      find: async id => {
        const site = await this.sites.find(id);
        return (
          site && {
            kind: 'site',
            id,
            name: site.name,
            slug: site.slug,
            createdBy: site.created_by,
            workspaceId: site.workspace_id,
            organizationId: site.organization_id,
          }
        );
      },
    });
  }

  @Action({
    name: 'site_list',
    route: 'GET /api/sites',
    on: 'workspace_id',
    summary: 'List the sites in the workspaces that the caller sees, or in one of them',
    effect: 'read',
    permission: 'site.read',
    input: ListSites,
    output: SitePage,
    refuses: { 404: 'No such workspace' },
  })
  async list(actor: Actor, input: ListSites): Promise<Page<SiteView>> {
    const { workspace_id: workspaceId, limit = DEFAULT_LIMIT, cursor } = input;
    requireScope(actor, 'site.read');
    if (workspaceId) await this.workspaces.require(actor, 'site.read', workspaceId);
    const [after] = decodeCursor(cursor, 'id');
    const rows = await this.sites.list(actor, { workspaceId, after, limit: limit + 1 });
    return pageOf(
      rows,
      limit,
      row => this.views.site(row),
      row => [row.id],
    );
  }

  @Action({
    name: 'site_create',
    route: 'POST /api/sites',
    on: 'workspace_id',
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
    const { workspace_id: workspaceId } = input;
    await this.workspaces.require(actor, 'site.publish', workspaceId);
    this.names.requireUsable();
    const name = input.name.trim();
    const slug = input.slug ?? (slugOf(name) || randomSlug());
    const id = newId();
    return this.database.transaction(async unit => {
      await this.workspaces.requireLocked(unit, actor, 'site.publish', workspaceId);
      if ((await this.sites.count(unit, workspaceId)) >= this.config.workspaceLimits.sites)
        throw new Conflict(
          `The workspace has ${this.config.workspaceLimits.sites} sites, as many as it may; delete one`,
        );
      await this.sites.add(unit, {
        id,
        workspace_id: workspaceId,
        slug,
        name,
        created_by: actor.id,
        ...settingsOf(input),
        folder: workspacePath(input.folder),
      });
      await this.names.claim(unit, { kind: 'site', targetId: id, workspaceId, slug });
      const site = await this.sites.require(id, unit);
      await this.audit.record(unit, actor, 'site.create', targetOf(site), {
        name,
        slug,
        folder: site.folder,
      });
      return unit.answers(this.views.site(site));
    });
  }

  @Action({
    name: 'site_get',
    route: 'GET /api/sites/:id',
    on: { id: 'site' },
    summary: 'Read a site',
    effect: 'read',
    permission: 'site.read',
    input: SiteId,
    output: SiteView,
  })
  async read(actor: Actor, { id }: SiteId): Promise<SiteView> {
    await this.targets.requireSite(actor, 'site.read', id);
    return this.views.site(await this.sites.require(id));
  }

  @Action({
    name: 'site_update',
    route: 'PATCH /api/sites/:id',
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
    await this.targets.requireSite(actor, 'site.publish', id);
    if (actions) this.requireActions(actions);
    await this.database.transaction(async unit => {
      const site = await this.sites.lock(unit, id);
      const changes: SiteChanges = {
        ...settingsOf(input),
        ...(input.folder !== undefined && { folder: workspacePath(input.folder) }),
        ...(name !== undefined && { name: name.trim() }),
        ...(slug !== undefined && { slug }),
        ...(actions && { actions: [...new Set(actions)], actions_actor: actor }),
        ...(input.actions_public !== undefined && { actions_public: input.actions_public }),
      };
      if (slug !== undefined && slug !== site.slug)
        await this.names.rename(unit, { kind: 'site', targetId: id, workspaceId: site.workspace_id, slug });
      else if (name !== undefined) await this.names.changed(unit);
      await this.sites.update(unit, id, changes);
      const { actions_actor: _actor, ...details } = changes;
      await this.audit.record(unit, actor, 'site.update', targetOf(site), details);
    });
    return this.read(actor, { id });
  }

  @Action({
    name: 'site_delete',
    route: 'DELETE /api/sites/:id',
    on: { id: 'site' },
    summary: 'Delete a site with all its versions; its folder in the workspace stays',
    effect: 'destructive',
    consequence: 'Its pages are gone at once, and no other workspace gets its slug for 30 days.',
    permission: 'site.publish',
    input: SiteId,
    output: DeletedView,
  })
  async delete(actor: Actor, { id }: SiteId): Promise<DeletedView> {
    await this.targets.requireSite(actor, 'site.publish', id);
    await this.database.deletion(async unit => {
      const site = await this.sites.lock(unit, id);
      await this.names.release(unit, 'site', id);
      await this.sites.remove(unit, id);
      await this.jobs.enqueue(unit, removeSite, newId(), { site_id: id });
      await this.audit.record(unit, actor, 'site.delete', targetOf(site), {
        name: site.name,
        slug: site.slug,
      });
    });
    return DeletedView.of(id);
  }

  @Action({
    name: 'site_lock',
    route: 'POST /api/sites/:id/lock',
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

  @Action({
    name: 'site_unlock',
    route: 'POST /api/sites/:id/unlock',
    on: { id: 'site' },
    summary: 'Unlock a site',
    effect: 'write',
    permission: 'site.publish',
    input: SiteId,
    output: SiteView,
    commitsAnswer: true,
  })
  async unlock(actor: Actor, { id }: SiteId): Promise<SiteView> {
    return this.change(actor, id, 'site.unlock', { locked_at: null, locked_by: null, lock_reason: null });
  }

  @Action({
    name: 'site_auto_promote_resume',
    route: 'POST /api/sites/:id/auto-promote/resume',
    on: { id: 'site' },
    summary: 'Let newer versions go live by themselves again',
    effect: 'write',
    permission: 'site.publish',
    input: SiteId,
    output: SiteView,
    commitsAnswer: true,
  })
  async resume(actor: Actor, { id }: SiteId): Promise<SiteView> {
    return this.change(actor, id, 'site.resume_auto_promote', { paused_at: null, pause_reason: null });
  }

  private async change(
    actor: Actor,
    id: string,
    action: string,
    changes: SiteChanges,
    details: Record<string, unknown> = {},
  ): Promise<SiteView> {
    await this.targets.requireSite(actor, 'site.publish', id);
    return this.database.transaction(async unit => {
      const site = await this.sites.lock(unit, id);
      await this.sites.update(unit, id, changes);
      await this.audit.record(unit, actor, action, targetOf(site), details);
      return unit.answers(this.views.site(await this.sites.require(id, unit)));
    });
  }

  private requireActions(names: readonly string[]): void {
    for (const name of names) {
      if (this.catalog.get(name)) continue;
      const meant = didYouMean(
        name,
        this.catalog.list().map(action => action.name),
      );
      throw new Invalid(`There is no action ${name}${meant ? `; did you mean ${meant}?` : ''}`);
    }
  }
}

export const targetOf = ({ id, organization_id, workspace_id }: SiteRow) => ({
  type: 'site',
  id,
  organization_id,
  workspace_id,
});

/** What of the settings was given. */
function settingsOf(input: Partial<CreateSite>): SiteChanges {
  const { preset, install_command, build_command, output_dir, spa, node_memory } = input;
  const given = Object.entries({ preset, install_command, build_command, spa, node_memory }).filter(
    ([, value]) => value !== undefined,
  );
  return {
    ...Object.fromEntries(given),
    ...(output_dir !== undefined && { output_dir: output_dir === null ? null : normalizePath(output_dir) }),
  };
}

const randomSlug = () => `site-${Math.floor(Math.random() * MAX_RANDOM).toString(36)}`;
