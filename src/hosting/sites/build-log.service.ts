import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { iso } from '../../platform/database/index.js';
import type { EventLog, LogPage, Watched } from '../../platform/streams/index.js';
import type { Topic } from '../../platform/topics/index.js';
import { HostedTargets } from '../gateway/index.js';
import { BuildLogStore } from './records/build-log.store.js';
import { isOpen } from './records/version-states.js';
import { VersionsStore, versionTopic } from './records/versions.store.js';
import { BuildLogView, ReadBuildLog } from './sites.dto.js';

const MAX_LINES = 500;

@Injectable()
export class BuildLogService {
  constructor(
    private readonly targets: HostedTargets,
    private readonly versions: VersionsStore,
    private readonly log: BuildLogStore,
  ) {}

  @Action('site_version_log_get', 'GET /api/sites/:id/versions/:versionId/log', {
    on: { id: 'site' },
    summary: 'Read what the build of a version has printed',
    permission: 'site.read',
    input: ReadBuildLog,
    output: BuildLogView,
    refuses: { 404: 'No such site or version' },
  })
  async read(actor: Actor, { id, version_id, after = 0 }: ReadBuildLog): Promise<BuildLogView> {
    await this.targets.requireSite(actor, 'site.read', id);
    const { state } = await this.versions.require(id, version_id);
    const lines = await this.log.read(version_id, after, MAX_LINES);
    return {
      lines: lines.map(line => ({ ...line, created_at: iso(line.created_at) })),
      next: lines.at(-1)?.id ?? after,
      is_complete: !isOpen(state) && lines.length < MAX_LINES,
    };
  }

  @Action('site_version_log_watch', {
    on: { id: 'site' },
    summary: 'Stream what the build of a version prints, from its beginning or from after a line, to its end',
    permission: 'site.read',
    input: ReadBuildLog,
    output: BuildLogView,
    restOnly: true,
    refuses: { 404: 'No such site or version' },
  })
  async events(actor: Actor, { id, version_id }: ReadBuildLog): Promise<Watched> {
    const { workspaceId } = await this.targets.requireSite(actor, 'site.read', id);
    await this.versions.require(id, version_id);
    return { workspaceId, log: new BuildLog(this.versions, this.log, id, version_id) };
  }
}

class BuildLog implements EventLog {
  readonly topic: Topic;

  constructor(
    private readonly versions: VersionsStore,
    private readonly log: BuildLogStore,
    private readonly siteId: string,
    private readonly versionId: string,
  ) {
    this.topic = versionTopic(versionId);
  }

  async read(after: number): Promise<LogPage> {
    const version = await this.versions.find(this.siteId, this.versionId);
    const lines = await this.log.read(this.versionId, after, MAX_LINES);
    const events = lines.map(({ id, stream, text, created_at }) => ({
      id,
      event: 'build.log',
      data: { stream, text, created_at: iso(created_at) },
    }));
    if (!version) return { events, isLast: true };
    if (lines.length === MAX_LINES) return { events, isAgain: true };
    if (isOpen(version.state)) return { events };
    const { state, error } = version;
    // Under the same number also for who resumes behind it.
    const last = (lines.at(-1)?.id ?? (await this.log.newest(this.versionId))) + 1;
    return { events: [...events, { id: last, event: 'build.ended', data: { state, error } }], isLast: true };
  }
}
