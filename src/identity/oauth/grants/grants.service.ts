import { Injectable } from '@nestjs/common';
import { type Actor, requireScope } from '../../../platform/access/index.js';
import { Action } from '../../../platform/actions/index.js';
import { Audit } from '../../../platform/audit/index.js';
import { Database } from '../../../platform/database/index.js';
import { ById, DeletedView, type Page, PageInput } from '../../../platform/dto/index.js';
import { NotFound } from '../../../platform/errors/index.js';
import { GrantPage, GrantView } from './grants.dto.js';
import { GrantsStore } from './grants.store.js';

/** The applications that the caller let in. */
@Injectable()
export class GrantsService {
  constructor(
    private readonly database: Database,
    private readonly grants: GrantsStore,
    private readonly audit: Audit,
  ) {}

  @Action('grant_list', 'GET /api/oauth/grants', {
    summary: 'List the applications that you let in, oldest first',
    permission: 'grant.read',
    input: PageInput,
    output: GrantPage,
  })
  async list(actor: Actor, page: PageInput): Promise<Page<GrantView>> {
    requireScope(actor, 'grant.read');
    return this.grants.listOf(actor.id, page);
  }

  @Action('grant_revoke', 'DELETE /api/oauth/grants/:id', {
    on: { id: 'grant' },
    summary: 'Take back what you allowed an application; all of its tokens stop working at once',
    consequence: 'The application has to be let in anew to go on.',
    permission: 'grant.revoke',
    input: ById({ id: 'The grant' }),
    output: DeletedView,
  })
  async revoke(actor: Actor, { id }: ById): Promise<DeletedView> {
    requireScope(actor, 'grant.revoke');
    await this.database.transaction(async unit => {
      const grant = await this.grants.deleteOf(unit, actor.id, id);
      if (!grant) throw new NotFound('No such grant');
      const { client_id, client_name } = grant;
      const target = { type: 'oauth_grant', id };
      await this.audit.record(unit, actor, 'grant_revoke', target, { client_id, client_name });
    });
    return DeletedView.of(id);
  }
}
