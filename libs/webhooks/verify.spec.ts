import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { newStandardSecret, type Received, type Scheme, standardSignature, verifyWebhook } from './index.js';

const SLACK_BODY =
  'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';
const STRIPE_BODY = '{\n  "id": "evt_test_webhook",\n  "object": "event"\n}';
const stripeSignature = createHmac('sha256', 'whsec_test_secret')
  .update(`1614265330.${STRIPE_BODY}`)
  .digest('hex');

interface Example {
  scheme: Scheme;
  secret: string;
  body: string;
  at: number;
  headers: Record<string, string>;
  key: string | null;
}

/** As the documentation of each sender has them; Stripe publishes none, so that one follows its description. */
const EXAMPLES: Example[] = [
  {
    scheme: 'github',
    secret: "It's a Secret to Everybody",
    body: 'Hello, World!',
    at: 0,
    headers: {
      'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
      'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
    },
    key: '72d3162e-cc78-11e3-81ab-4c9367dc0958',
  },
  {
    scheme: 'slack',
    secret: '8f742231b10e8888abcd99yyyzzz85a5',
    body: SLACK_BODY,
    at: 1_531_420_618,
    headers: {
      'x-slack-request-timestamp': '1531420618',
      'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    },
    key: null,
  },
  {
    scheme: 'standard',
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    body: '{"test": 2432232314}',
    at: 1_614_265_330,
    headers: {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
    key: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  },
  {
    scheme: 'stripe',
    secret: 'whsec_test_secret',
    body: STRIPE_BODY,
    at: 1_614_265_330,
    headers: { 'stripe-signature': `t=1614265330,v0=old,v1=${stripeSignature}` },
    key: null,
  },
  {
    scheme: 'gitlab',
    secret: 'a secret token',
    body: '{"object_kind":"push"}',
    at: 0,
    headers: {
      'x-gitlab-token': 'a secret token',
      'x-gitlab-event-uuid': '13792a34-cac6-4fda-95a8-c58e00a3954e',
    },
    key: '13792a34-cac6-4fda-95a8-c58e00a3954e',
  },
];

const received = ({ headers, body, at }: Example): Received => ({
  headers,
  body: Buffer.from(body),
  now: new Date(at * 1000),
});

describe.each(EXAMPLES)('a webhook of $scheme', example => {
  const { scheme, secret, key, at, headers, body } = example;

  it('is taken as its sender signs it, with any of the secrets', () => {
    expect(verifyWebhook(scheme, received(example), [secret])).toEqual({ ok: true, key });
    expect(verifyWebhook(scheme, received(example), ['other', secret])).toEqual({ ok: true, key });
  });

  it('is refused with another secret, without any, and without its headers', () => {
    expect(verifyWebhook(scheme, received(example), ['other']).ok).toBe(false);
    expect(verifyWebhook(scheme, received(example), []).ok).toBe(false);
    expect(verifyWebhook(scheme, { ...received(example), headers: {} }, [secret]).ok).toBe(false);
  });

  it('is refused where a byte is another', () => {
    if (scheme === 'gitlab') return expect(headers['x-gitlab-token']).toBe(secret);
    const changed = `${body.slice(0, -1)}${body.endsWith('!') ? '?' : ' '}`;
    expect(verifyWebhook(scheme, received({ ...example, body: changed }), [secret]).ok).toBe(false);
    for (const name of Object.keys(headers).filter(name => name.includes('signature'))) {
      const wrong = { ...headers, [name]: `${headers[name]?.slice(0, -2)}00` };
      expect(verifyWebhook(scheme, received({ ...example, headers: wrong }), [secret]).ok).toBe(false);
    }
  });

  it('is refused when its time is five minutes off', () => {
    const isTimed = ['slack', 'standard', 'stripe'].includes(scheme);
    for (const off of [-301, 301])
      expect(verifyWebhook(scheme, received({ ...example, at: at + off }), [secret]).ok).toBe(!isTimed);
    for (const off of [-299, 299])
      expect(verifyWebhook(scheme, received({ ...example, at: at + off }), [secret]).ok).toBe(true);
  });
});

describe('a signature by the rule of a file', () => {
  const body = Buffer.from('{"a":1}');
  it.each([
    ['sha256', 'hex', 'sha256='],
    ['sha512', 'base64', ''],
    ['sha1', 'hex', ''],
  ] as const)('is taken with %s in %s', (algorithm, encoding, prefix) => {
    const rule = { header: 'x-signature', algorithm, encoding, prefix, idHeader: 'x-id' };
    const signature = prefix + createHmac(algorithm, 'secret').update(body).digest(encoding);
    const headers = { 'x-signature': signature, 'x-id': 'one' };
    const given = { headers, body, now: new Date() };
    expect(verifyWebhook('hmac', given, ['secret'], rule)).toEqual({ ok: true, key: 'one' });
    expect(verifyWebhook('hmac', given, ['other'], rule).ok).toBe(false);
    expect(verifyWebhook('hmac', { ...given, headers: {} }, ['secret'], rule).ok).toBe(false);
  });
});

it('what is signed here is what the library of Standard Webhooks verifies', () => {
  const secret = newStandardSecret();
  const message = { id: 'msg_1', timestamp: String(Math.floor(Date.now() / 1000)), body: '{"a":"Grüße"}' };
  const headers = {
    'webhook-id': message.id,
    'webhook-timestamp': message.timestamp,
    'webhook-signature': standardSignature(secret, message),
  };
  expect(new Webhook(secret).verify(message.body, headers)).toEqual({ a: 'Grüße' });
});
