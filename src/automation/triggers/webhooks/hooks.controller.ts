import { Controller, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RAW_BODY } from '#libs/fastify-hardening/index.js';
import { TookTooLong } from '#libs/worker-pool/index.js';
import { Public } from '../../../platform/access/index.js';
import { NotFound, Problem, Unavailable, UnsupportedMediaType } from '../../../platform/errors/index.js';
import { RateLimits } from '../../../platform/limits/index.js';
import { task, Workers } from '../../../platform/workers/index.js';
import type { WebhookTrigger } from '../../automation/index.js';
import { ECHO_HEADERS, graphChallenge, metaChallenge } from './address-challenges.js';
import { ForgedSignatures } from './forged-signatures.js';
import { type Hook, HooksStore } from './hooks.store.js';
import { LARGE_BYTES, WebhookBodies } from './webhook-bodies.js';
import { requireLive, type WebhookAnswer, WebhookIntake } from './webhook-intake.js';
import { type Arrived, type Reading, readWebhook } from './webhook-reading.js';
import { HOOKS, tokenHashOf, WebhookSecrets } from './webhook-secrets.js';

const TOKEN = /^[\w-]{43}$/;
const READ = task('src/automation/triggers/webhooks/webhook-reading-task', 'readLargeWebhook');
/** Far more than a body of the largest size takes, unless it was written to take long. */
const READ_MS = 10_000;

/** Where other services send webhooks to. What costs least is asked first; nothing is answered before it is stored. */
@Public()
@ApiExcludeController()
@Controller()
export class HooksController {
  constructor(
    private readonly hooks: HooksStore,
    private readonly secrets: WebhookSecrets,
    private readonly intake: WebhookIntake,
    private readonly rateLimits: RateLimits,
    private readonly forged: ForgedSignatures,
    private readonly bodies: WebhookBodies,
    private readonly workers: Workers,
  ) {}

  /** For people who look whether an address lives. */
  @Get(`${HOOKS}/:token`)
  async show(
    @Param('token') token: string,
    @Req() { url }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<{ ok: true } | string> {
    const hook = await this.find(token);
    const challenge = metaChallenge(hook.config as WebhookTrigger, url, token);
    if (challenge === undefined) return { ok: true };
    requireLive(hook.state);
    reply.headers(ECHO_HEADERS);
    return challenge;
  }

  @RouteConfig(RAW_BODY)
  @HttpCode(200)
  @Post(`${HOOKS}/:token`)
  async receive(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookAnswer | { challenge: string } | string> {
    const hook = await this.find(token);
    await this.rateLimits.recogniseWebhook(request, reply, hook.id);
    requireLive(hook.state);
    const challenge = graphChallenge(hook.config as WebhookTrigger, request.url);
    if (challenge !== undefined) {
      reply.headers(ECHO_HEADERS);
      return challenge;
    }
    const { headers, raw } = request;
    if ((headers['content-encoding'] ?? 'identity') !== 'identity')
      throw new UnsupportedMediaType('Send the body as it is, without Content-Encoding');
    return this.bodies.with(raw, body => this.take(hook, request, body));
  }

  private async take(
    hook: Hook,
    { headers, url, ip }: FastifyRequest,
    body: Buffer,
  ): Promise<WebhookAnswer | { challenge: string }> {
    const config = hook.config as WebhookTrigger;
    const now = new Date(hook.found_at);
    const secrets = config.verify === 'token' ? [] : this.secrets.current(hook, now);
    if (config.verify !== 'token' && secrets.length === 0)
      throw new Problem(401, 'The secret of this webhook is not set yet: set the one of its sender');
    const reading = await this.read({ headers, url, body, at: now.getTime(), config, secrets });
    if (reading.is === 'forged') {
      await this.forged.count(ip);
      throw new Problem(401, reading.reason);
    }
    if (reading.is === 'refused') throw new Problem(reading.status, reading.reason);
    const { challenge } = reading;
    return challenge === undefined ? this.intake.take({ hook, ...reading }) : { challenge };
  }

  /** To check and to parse what is large would keep all others waiting. */
  private async read(arrived: Arrived): Promise<Reading> {
    if (arrived.body.length <= LARGE_BYTES) return readWebhook(arrived);
    try {
      return await this.workers.run<Reading>(READ, arrived, READ_MS);
    } catch (error) {
      if (!(error instanceof TookTooLong)) throw error;
      throw new Unavailable('The body takes too long to be read; make it smaller');
    }
  }

  private async find(token: string): Promise<Hook> {
    const hook = TOKEN.test(token) ? await this.hooks.find(tokenHashOf(token)) : undefined;
    if (!hook) throw new NotFound('No such webhook');
    return hook;
  }
}
