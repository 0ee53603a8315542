import { Controller, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RAW_BODY, wholeBody } from '#libs/fastify-hardening/index.js';
import { verifyWebhook } from '#libs/webhooks/index.js';
import { Public } from '../../../platform/access/index.js';
import { Config } from '../../../platform/config/index.js';
import { NotFound, Problem, UnsupportedMediaType } from '../../../platform/errors/index.js';
import { RateLimits } from '../../../platform/limits/index.js';
import type { WebhookTrigger } from '../../automation/index.js';
import { ForgedSignatures } from './forged-signatures.js';
import { type Hook, HooksStore } from './hooks.store.js';
import { inputOf, type WebhookInput } from './webhook-body.js';
import { requireLive, type WebhookAnswer, WebhookIntake } from './webhook-intake.js';
import { HOOKS, tokenHashOf, WebhookSecrets } from './webhook-secrets.js';

const TOKEN = /^[\w-]{43}$/;
const MAX_KEY = 200;

/** Where other services send webhooks to. What costs least is asked first; nothing is answered before it is stored. */
@Public()
@ApiExcludeController()
@Controller()
export class HooksController {
  constructor(
    private readonly config: Config,
    private readonly hooks: HooksStore,
    private readonly secrets: WebhookSecrets,
    private readonly intake: WebhookIntake,
    private readonly rateLimits: RateLimits,
    private readonly forged: ForgedSignatures,
  ) {}

  /** For people who look whether an address lives. */
  @Get(`${HOOKS}/:token`)
  async show(@Param('token') token: string): Promise<{ ok: true }> {
    await this.find(token);
    return { ok: true };
  }

  @RouteConfig(RAW_BODY)
  @HttpCode(200)
  @Post(`${HOOKS}/:token`)
  async receive(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookAnswer | { challenge: string }> {
    const hook = await this.find(token);
    await this.rateLimits.recogniseWebhook(request, reply, hook.id);
    requireLive(hook.state);
    const { headers, raw } = request;
    if ((headers['content-encoding'] ?? 'identity') !== 'identity')
      throw new UnsupportedMediaType('Send the body as it is, without Content-Encoding');
    const body = await wholeBody(raw, this.config.webhookBytes);
    const config = hook.config as WebhookTrigger;
    const sentKey = await this.verified(hook, config, request, body);
    const input = inputFrom(request, body, config);
    const challenge = challengeIn(config, input);
    if (challenge !== undefined) return { challenge };
    return this.intake.take(hook, config, input, keyOf(config, input, sentKey));
  }

  private async find(token: string): Promise<Hook> {
    const hook = TOKEN.test(token) ? await this.hooks.find(tokenHashOf(token)) : undefined;
    if (!hook) throw new NotFound('No such webhook');
    return hook;
  }

  /** The id that the sender gives the delivery in a header. */
  private async verified(
    hook: Hook,
    { verify, hmac }: WebhookTrigger,
    { headers, ip }: FastifyRequest,
    body: Buffer,
  ): Promise<string | null> {
    if (verify === 'token') return [headers['idempotency-key'] ?? ''].flat()[0] || null;
    const now = new Date();
    const secrets = this.secrets.current(hook, now);
    if (secrets.length === 0)
      throw new Problem(401, 'The secret of this webhook is not set yet: set the one of its sender');
    const verdict = verifyWebhook(verify, { headers, body, now }, secrets, hmac);
    if (verdict.ok) return verdict.key;
    await this.forged.count(ip);
    throw new Problem(401, verdict.reason);
  }
}

function inputFrom({ headers, url }: FastifyRequest, body: Buffer, { hmac }: WebhookTrigger): WebhookInput {
  const query = new URLSearchParams(url.split('?', 2)[1] ?? '');
  return inputOf(headers, query, body, hmac?.header);
}

/** Slack asks whether an address is the one that it was given. */
function challengeIn({ verify }: WebhookTrigger, { body }: WebhookInput): string | undefined {
  const { type, challenge } = fieldsOf(body);
  const isAsked = verify === 'slack' && type === 'url_verification' && typeof challenge === 'string';
  return isAsked ? challenge : undefined;
}

function keyOf({ verify }: WebhookTrigger, { body }: WebhookInput, sent: string | null): string | null {
  const { id, event_id } = fieldsOf(body);
  const inBody = verify === 'stripe' ? id : verify === 'slack' ? event_id : undefined;
  const key = typeof inBody === 'string' ? inBody : sent;
  return key === null ? null : key.slice(0, MAX_KEY).toWellFormed().replaceAll('\0', '');
}

const fieldsOf = (body: unknown): Record<string, unknown> =>
  typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
