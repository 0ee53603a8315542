import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { addLogContext, createLog, withLogContext } from './log.js';

function logged(format: 'json' | 'text', work: (log: ReturnType<typeof createLog>) => void): string {
  const out = new PassThrough();
  work(createLog({ logLevel: 'info', logFormat: format }, out as never));
  return String(out.read());
}

describe('the log', () => {
  it('carries the ids of the request, the run and the workspace at work', () => {
    const line = logged('json', log =>
      withLogContext({ request_id: 'r1' }, () => {
        addLogContext({ workspace_id: 'w1' });
        withLogContext({ run_id: 'n1' }, () => log.info({}, 'hello'));
      }),
    );
    expect(JSON.parse(line)).toMatchObject({
      level: 'info',
      request_id: 'r1',
      workspace_id: 'w1',
      run_id: 'n1',
      msg: 'hello',
    });
  });

  it('does not mix the ids of two requests', () => {
    const lines = logged('json', log => {
      withLogContext({ request_id: 'a' }, () => addLogContext({ workspace_id: 'w' }));
      withLogContext({ request_id: 'b' }, () => log.info({}, 'hello'));
    });
    expect(JSON.parse(lines)).not.toHaveProperty('workspace_id');
  });

  it('hides secrets by name, one level down too', () => {
    const text = logged('json', log =>
      log.info({ password: 'hunter2', body: { api_key: 'atl_secret', name: 'Ada' } }, 'hello'),
    );
    expect(text).not.toMatch(/hunter2|atl_secret/);
    expect(text).toContain('Ada');
  });

  it('writes one readable line for people', () => {
    expect(logged('text', log => log.info({ port: 3000 }, 'listening'))).toMatch(
      /^\d\d:\d\d:\d\d info {2}listening {2}port=3000\n$/,
    );
  });
});
