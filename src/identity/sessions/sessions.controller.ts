import { Controller, Delete, Get } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { DeletedView, Input } from '../../platform/dto/index.js';
import { Documents } from '../../platform/openapi/index.js';
import { EndedSessionsView, EndSessions, ListSessions, SessionId, SessionPage } from './sessions.dto.js';
import { SessionsService } from './sessions.service.js';
import { SessionsStore } from './sessions.store.js';

/** No capabilities of agents or programs: sign-ins are for the person alone. */
@Controller()
export class SessionsController {
  constructor(
    private readonly sessions: SessionsService,
    private readonly store: SessionsStore,
  ) {}

  @Documents({
    name: 'session_list',
    summary: 'List where you are signed in, newest first',
    input: ListSessions,
    output: SessionPage,
    sessionOnly: true,
  })
  @Get('/api/auth/sessions')
  list(@Caller() actor: Actor, @Input() input: ListSessions) {
    return this.store.list(actor, input);
  }

  @Documents({
    name: 'session_clear',
    summary: 'Sign out everywhere else',
    input: EndSessions,
    output: EndedSessionsView,
    sessionOnly: true,
  })
  @Delete('/api/auth/sessions')
  endAll(@Caller() actor: Actor, @Input() input: EndSessions) {
    return this.sessions.endOthers(actor, input);
  }

  @Documents({
    name: 'session_revoke',
    summary: 'End one session; its tokens stop working at once',
    input: SessionId,
    output: DeletedView,
    sessionOnly: true,
  })
  @Delete('/api/auth/sessions/:id')
  end(@Caller() actor: Actor, @Input() input: SessionId) {
    return this.sessions.endOne(actor, input);
  }
}
