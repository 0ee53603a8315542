import { Injectable } from '@nestjs/common';
import { ListOfOrganization, OrganizationsStore } from '../../identity/organizations/index.js';
import { type Actor, organizationRoleAllows } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Field, type Page, PageOf, readPage } from '../../platform/dto/index.js';

export class ExposedView {
  @Field.id('Its id, in its own list') id: string;
  @Field.text('What kind of thing it is: share for a share link', { example: 'share' }) kind: string;
  @Field.text('What is reachable: a path, a name', { example: 'notes/plan.md' }) name: string;
  @Field.id('The workspace it belongs to') workspace_id: string;
  @Field.text('The name of that workspace', { example: 'Research' }) workspace_name: string;

  @Field.text('Where it is reachable; null where the caller may not go through it themselves', {
    nullable: true,
    secret: true,
    example: 'https://share.atelier.example.com/s/q3Vn…',
  })
  url: string | null;

  @Field.choice('What keeps others out', ['nothing', 'link', 'password', 'sign_in'], { example: 'link' })
  protection: string;

  @Field.choice('What those who reach it may do', ['view', 'download', 'upload', 'use']) allow: string;
  @Field.time('When it ends by itself', { nullable: true }) expires_at: string | null;
  @Field.id('Who made it') created_by: string;
  @Field.time('When it was made') created_at: string;

  @Field.text('DELETE this path to end it', { example: '/api/share/0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f' })
  revoke_path: string;
}

export const ExposedPage = PageOf(ExposedView, 'ExposedPage');

export interface ExposureQuery {
  readonly organizationId: string;
  /** Also in workspaces that the caller does not see: for those who answer for the organization. */
  readonly all: boolean;
  readonly after?: string;
  readonly limit: number;
}

/** Lists by id what is reachable from outside; without `all`, only what the caller may end. */
export interface ExposureSource {
  listExposed(actor: Actor, query: ExposureQuery): Promise<ExposedView[]>;
}

/** Features that expose things register here while modules start. */
@Injectable()
export class Exposures {
  private readonly sources: ExposureSource[] = [];

  add(source: ExposureSource): void {
    this.sources.push(source);
  }

  async list(actor: Actor, query: ExposureQuery): Promise<ExposedView[]> {
    const lists = await Promise.all(this.sources.map(source => source.listExposed(actor, query)));
    return lists
      .flat()
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .slice(0, query.limit);
  }
}

@Injectable()
export class ExposureService {
  constructor(
    private readonly organizations: OrganizationsStore,
    private readonly exposures: Exposures,
  ) {}

  @Action('exposure_list', 'GET /api/share/exposed', {
    summary: 'List everything of an organization that is reachable from outside, each with how to end it',
    permission: 'exposure.list',
    input: ListOfOrganization,
    output: ExposedPage,
    refuses: { 404: 'No such organization' },
  })
  async list(actor: Actor, input: ListOfOrganization): Promise<Page<ExposedView>> {
    const { organization_id: organizationId, ...page } = input;
    const { role } = await this.organizations.require(actor, 'exposure.list', organizationId);
    const all = organizationRoleAllows(role, 'exposure.manage');
    return readPage({ by: 'id' }, page, slice =>
      this.exposures.list(actor, { organizationId, all, ...slice }),
    );
  }
}
