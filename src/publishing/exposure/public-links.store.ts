import { type AliasedRawBuilder, type RawBuilder, sql } from 'kysely';
import {
  type Actor,
  isReachableBy,
  roleOf,
  rolesWith,
  visibleTo,
  workspacesOf,
} from '../../platform/access/index.js';
import type { Database, Row, UnitOfWork } from '../../platform/database/index.js';
import { type Page, selectPage } from '../../platform/dto/index.js';
import type { ListAcrossWorkspaces } from '../../workspaces/core/index.js';
import type { ExposureQuery } from './exposure.service.js';
import type { Asker, LinkRow, OpenLink } from './public-link.js';

type Queries = Pick<Database, 'tables'>;

/** Public links of one kind. They are `l` in queries, and their workspaces `w`. */
export abstract class PublicLinksStore<Link extends LinkRow, Asked extends Link & Asker> {
  protected abstract readonly table: 'share_link' | 'form';
  protected abstract readonly link: OpenLink<Link>;

  constructor(protected readonly database: Database) {}

  /** One query, whatever the token: what is no token takes as long as what is one no more. */
  findByTokenHash(hash: string): Promise<Link | undefined> {
    return this.links(this.database).where('l.token_hash', '=', hash).$castTo<Link>().executeTakeFirst();
  }

  find(id: string, within: Queries = this.database): Promise<Link | undefined> {
    return this.links(within).where('l.id', '=', id).$castTo<Link>().executeTakeFirst();
  }

  /** The link with who asks, if they are in its organization and their credential reaches that far; else 404. */
  async require(actor: Actor, id: string, within: Queries = this.database): Promise<Asked> {
    const [row] = await this.asked(actor, within).where('l.id', '=', id).execute();
    if (!row) throw this.link.missing();
    return row;
  }

  /** Links in workspaces that the caller sees, or in one of them, oldest first. */
  list(actor: Actor, { workspace_id, ...page }: ListAcrossWorkspaces): Promise<Page<Asked>> {
    const all = this.asked(actor, this.database, visibleTo(actor));
    const query = workspace_id ? all.where('l.workspace_id', '=', workspace_id) : all;
    return selectPage(query, page, { by: 'l.id' });
  }

  /** Those of one organization that the caller may end; with `all`, also in workspaces that they do not see. */
  listOfOrganization(actor: Actor, filter: ExposureQuery): Promise<Asked[]> {
    const query = filter.all
      ? this.asked(actor, this.database).where(isReachableBy(actor))
      : this.asked(actor, this.database, visibleTo(actor)).where(
          sql.ref('w.role'),
          'in',
          rolesWith(this.link.permissions.end),
        );
    const ofOrganization = query.where('w.organization_id', '=', filter.organizationId);
    return (filter.after ? ofOrganization.where('l.id', '>', filter.after) : ofOrganization)
      .orderBy('l.id')
      .limit(filter.limit)
      .execute();
  }

  async remove(unit: UnitOfWork, id: string): Promise<void> {
    const { rows } = await sql`delete from ${sql.table(this.table)} where id = ${id} returning id`.execute(
      unit.tables(),
    );
    if (rows.length === 0) throw this.link.missing();
  }

  /** What members read of a link besides its row. */
  protected counts(): AliasedRawBuilder<number, string>[] {
    return [];
  }

  private links(within: Queries, workspaces: RawBuilder<Row<'workspace'>> = sql`workspace`) {
    return within
      .tables()
      .selectFrom(sql<LinkRow>`${sql.table(this.table)}`.as('l'))
      .innerJoin(workspaces.as('w'), 'w.id', 'l.workspace_id')
      .selectAll('l')
      .select(['w.number as workspace_number', 'w.name as workspace_name'])
      .select(['w.organization_id', 'w.features_off'])
      .select(roleOf(sql.ref('l.created_by')).as('giver_role'));
  }

  private asked(actor: Actor, within: Queries, workspaces = workspacesOf<Row<'workspace'>>(actor)) {
    return this.links(within, workspaces)
      .select([sql.ref('w.role').as('role'), sql.ref('w.organization_role').as('organization_role')])
      .select(this.counts())
      .$castTo<Asked>();
  }
}
