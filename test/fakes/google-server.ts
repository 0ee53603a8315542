import {
  type FakeEvent,
  type FakeReply,
  type FakeRequest,
  pieces,
  ScriptedServer,
  toolCalls,
  usageOf,
} from './scripted-server.js';

/**
 * A local server that speaks the streaming protocol of Google's generative language API
 * (`models/NAME:streamGenerateContent?alt=sse`). Calls have no ids, as with most of its models; a script's broken arguments
 * are what the real server makes of them: no call, and the finish reason MALFORMED_FUNCTION_CALL.
 */
export class FakeGoogle extends ScriptedServer {
  static start(): Promise<FakeGoogle> {
    return new FakeGoogle().listen();
  }

  protected override events(request: FakeRequest, reply: FakeReply): FakeEvent[] | undefined {
    const model = /^\/v1\/models\/([^:]+):streamGenerateContent\?alt=sse$/.exec(request.path)?.[1];
    return model === undefined ? undefined : contentEvents(model, reply);
  }

  protected override errorBody(status: number): unknown {
    return { error: { code: status, message: `Scripted error ${status}.`, status: 'SCRIPTED' } };
  }
}

/** https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent */
function contentEvents(modelVersion: string, reply: FakeReply): FakeEvent[] {
  const calls = toolCalls(reply);
  const isBroken = calls.some(({ input }) => typeof input === 'string');
  const signed = reply.signature ? { thoughtSignature: reply.signature } : {};
  const chunk = (part: object): FakeEvent => ({
    data: { candidates: [{ content: { parts: [part], role: 'model' }, index: 0 }], modelVersion },
    delta: true,
  });
  const parts = [
    ...pieces(reply.reasoning).map(text => ({ text, thought: true })),
    ...pieces(reply.text).map(text => ({ text })),
    // The signature is on the first of several calls.
    ...(isBroken ? [] : calls).map(({ name, input }, index) => ({
      functionCall: { name, args: input },
      ...(index === 0 ? signed : {}),
    })),
  ];
  const finishReason = reply.finish ?? (isBroken ? 'MALFORMED_FUNCTION_CALL' : 'STOP');
  const { input, output, cacheRead, reasoning } = usageOf(reply);
  const usageMetadata = {
    promptTokenCount: input,
    candidatesTokenCount: output - reasoning,
    cachedContentTokenCount: cacheRead,
    thoughtsTokenCount: reasoning,
    totalTokenCount: input + output,
  };
  const ending = reply.error
    ? { error: { code: 500, message: reply.error.message, status: reply.error.type } }
    : {
        candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, finishReason, index: 0 }],
        usageMetadata,
        modelVersion,
      };
  return [...parts.map(chunk), { data: ending }];
}
