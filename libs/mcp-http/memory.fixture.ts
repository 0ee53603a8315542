import { EventEmitter } from 'node:events';
import { type CallToolResult, inputRequired, Server } from '@modelcontextprotocol/server';
import type {
  Answer,
  Call,
  ChangeSource,
  HttpExchange,
  McpHost,
  McpPorts,
  McpSession,
  MessageStream,
  QuestionStore,
  SessionState,
  SessionStore,
  WakeUp,
  Watch,
} from './ports.js';
import { structured } from './results.js';

/** A caller, by the header `x-caller`. */
export interface TestCall extends Call {
  readonly caller: string;
}

/** What several processes have in common: sessions, questions and what they tell each other. */
export class SharedMemory {
  readonly topics = new EventEmitter();
  readonly sessions = new Map<string, McpSession & { state: SessionState }>();
  readonly questions = new Map<string, { sessionId: string; answer: Answer | null }>();
  private begun = 0;

  wakeUp(topic: string): WakeUp {
    let woken = false;
    let resolve: (() => void) | undefined;
    const wake = () => {
      woken = true;
      resolve?.();
    };
    this.topics.on(topic, wake);
    return {
      wake,
      close: () => this.topics.off(topic, wake),
      wait: async signal => {
        signal.addEventListener('abort', wake, { once: true });
        if (!woken && !signal.aborted)
          await new Promise<void>(done => {
            resolve = done;
          });
        signal.removeEventListener('abort', wake);
        woken = false;
      },
    };
  }

  readonly sessionStore: SessionStore = {
    begin: async (ownerId, protocolVersion, client) => {
      const session = { id: `session-${++this.begun}`, ownerId, protocolVersion, client };
      this.sessions.set(session.id, { ...session, state: { subscriptions: [], streamId: null } });
      return session;
    },
    find: async id => this.sessions.get(id),
    end: async ({ id }) => {
      this.sessions.delete(id);
      this.topics.emit(id);
    },
    state: async id => this.sessions.get(id)?.state,
    subscribe: async (id, uri, max) => {
      const { subscriptions = [] } = this.sessions.get(id)?.state ?? {};
      if (subscriptions.length >= max) return false;
      this.change(id, { subscriptions: [...subscriptions, uri] });
      return true;
    },
    unsubscribe: async (id, uri) => {
      const { subscriptions = [] } = this.sessions.get(id)?.state ?? {};
      this.change(id, { subscriptions: subscriptions.filter(each => each !== uri) });
    },
    takeStream: async (id, streamId) => {
      const before = this.sessions.get(id)?.state.streamId;
      this.change(id, { streamId });
      return before !== null;
    },
    wakeUp: id => this.wakeUp(id),
  };

  readonly questionStore: QuestionStore = {
    ask: async (id, sessionId) => {
      this.questions.set(id, { sessionId, answer: null });
    },
    answer: async (sessionId, id, answer) => {
      const question = this.questions.get(String(id));
      if (question?.sessionId !== sessionId || question.answer) return;
      question.answer = answer;
      this.topics.emit(String(id));
    },
    answerTo: async id => this.questions.get(id)?.answer,
    forget: async id => {
      this.questions.delete(id);
    },
    wakeUp: id => this.wakeUp(id),
  };

  private change(id: string, change: Partial<SessionState>): void {
    const session = this.sessions.get(id);
    if (session) session.state = { ...session.state, ...change };
    this.topics.emit(id);
  }
}

/** Two tools: `echo`, which only answers, and `ask`, which asks the person first; `wait` ends when its caller takes it back. */
class TestHost implements McpHost<TestCall> {
  readonly waiting = new EventEmitter();

  private async call(signal: AbortSignal, name: string, input: object): Promise<CallToolResult> {
    if (name === 'echo') return structured(JSON.stringify(input));
    await new Promise<void>(resolve => {
      signal.addEventListener('abort', () => resolve(), { once: true });
      this.waiting.emit('began');
    });
    this.waiting.emit('ended');
    return structured('{}');
  }

  ownerOf({ caller }: TestCall): string {
    return caller;
  }

  server(call: TestCall): Server {
    const server = new Server(
      { name: 'test', version: '1.0.0' },
      { capabilities: { tools: {}, resources: { subscribe: true } } },
    );
    server.setRequestHandler('tools/list', () => ({
      tools: ['ask', 'echo', 'wait'].map(name => ({ name, inputSchema: { type: 'object' as const } })),
    }));
    server.setRequestHandler('tools/call', async ({ params: { name, arguments: input = {} } }, context) => {
      if (name !== 'ask')
        return this.call(AbortSignal.any([call.signal, context.mcpReq.signal]), name, input);
      const { colour } = context.mcpReq.inputResponses ?? {};
      if (colour) return structured(JSON.stringify(colour));
      const properties = { name: { type: 'string' as const } };
      const requestedSchema = { type: 'object' as const, properties };
      const question = inputRequired.elicit({ message: 'Which colour?', requestedSchema });
      return inputRequired({ inputRequests: { colour: question } });
    });
    return server;
  }
}

/** One process: all that is not shared. */
export class TestProcess implements McpPorts<TestCall> {
  readonly host = new TestHost();
  readonly sessions: SessionStore;
  readonly questions: QuestionStore;
  readonly cancellations: McpPorts<TestCall>['cancellations'];
  readonly log = { debug: () => undefined, error: () => undefined };
  /** Ends whatever was let in with the credential of `caller`. */
  readonly lost = new EventEmitter();

  constructor(private readonly memory: SharedMemory) {
    this.sessions = memory.sessionStore;
    this.questions = memory.questionStore;
    this.cancellations = {
      cancel: async name => void memory.topics.emit(`cancel ${name}`),
      onCancel: (name, listener) => {
        memory.topics.on(`cancel ${name}`, listener);
        return () => memory.topics.off(`cancel ${name}`, listener);
      },
    };
  }

  readonly changes: ChangeSource<TestCall> = {
    requireVisible: async () => undefined,
    isVisible: async () => true,
    followResources: async (_, uris, { signal, notice }: Watch) => {
      const tell = (uri: string) => uris.includes(uri) && notice({ uri });
      this.memory.topics.on('changed', tell);
      for (const uri of uris) this.memory.topics.emit(`followed ${uri}`);
      if (!signal.aborted)
        await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }));
      this.memory.topics.off('changed', tell);
    },
    followLists: async () => ({ over: Promise.resolve() }),
    followHost: () => () => undefined,
    untilLost: ({ caller }, lost) => {
      this.lost.on(caller, lost);
      return () => this.lost.off(caller, lost);
    },
  };

  readonly streams: McpPorts<TestCall>['streams'] = {
    reserve: () => () => undefined,
    start: ({ reply }: HttpExchange): MessageStream => {
      const gone = new AbortController();
      reply.hijack();
      reply.raw.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      reply.raw.once('close', () => gone.abort());
      return {
        signal: gone.signal,
        send: async message => void reply.raw.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`),
        end: () => {
          gone.abort();
          reply.raw.end();
        },
      };
    },
  };
}
