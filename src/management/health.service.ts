import { Injectable } from '@nestjs/common';
import { ApiKeysService } from '../auth/api-keys/api-keys.service.js';
import { IssuersService } from '../auth/issuers/issuers.service.js';
import { CodesService } from '../lookups/codes.service.js';
import { Replies } from '../http/replies.js';
import { Metrics } from '../telemetry/metrics.js';
import { version } from '../telemetry/version.js';
import { lasting, moment, statePage } from './state-page.js';

/** An issuer is asked each minute, the database four times a second. An older answer is a warning. */
const OLD_SECONDS = 150;
/** Of the API keys that end soon, the page names the first ones. */
const [SOON_SECONDS, MOST_KEYS] = [14 * 86_400, 5];

/** Whether the process can answer callers. The database is not asked: its outage must not take out all replicas at once. */
@Injectable()
export class HealthService {
  constructor(
    private readonly codes: CodesService,
    private readonly apiKeys: ApiKeysService,
    private readonly issuers: IssuersService,
    private readonly replies: Replies,
    private readonly metrics: Metrics,
  ) {
    metrics.measure(['ready', '1 while callers can be answered'], (gauge) =>
      gauge.set(Number(this.obstacles.length === 0)),
    );
    const file = '1 while codes, keys or signing-keys are served from LAST_GOOD_FILE';
    metrics.measure(['served_from_file', file, 'what'], (gauge) => {
      for (const [what, is] of Object.entries(this.restored)) gauge.set({ what }, Number(is));
    });
    const until = 'Until callers are refused because keys or signing-keys are too old to be used';
    metrics.measure(['seconds_until_refusal', until, 'what'], (gauge) => {
      for (const [what, seconds] of this.secondsUntilRefusal) gauge.set({ what }, seconds);
    });
  }

  /** What operators have to know of a service that is ready: what it serves from LAST_GOOD_FILE, and what of the database it refuses to serve. */
  get remarks(): { fromFile?: string[]; refused?: string[] } {
    const fromFile = Object.entries(this.restored).flatMap(([what, is]) => (is ? [what] : []));
    const { refusal } = this.codes;
    return { ...(fromFile.length > 0 && { fromFile }), ...(refusal && { refused: [refusal] }) };
  }

  /** Why the service is not ready, in sentences; empty if it is ready. */
  get obstacles(): string[] {
    const { replies, codes, apiKeys, issuers } = this;
    const drain = replies.isDraining ? 'The service is shutting down.' : undefined;
    const all = [drain, codes.obstacle, apiKeys.obstacle, issuers.obstacle];
    return all.filter((obstacle) => obstacle !== undefined);
  }

  /** A page about the state, for people. It is made of what the process knows: nothing is asked, and nothing waited for. */
  async page(): Promise<string> {
    const { obstacles, codes, apiKeys, issuers, metrics } = this;
    const [database] = (await metrics.databaseUp.get()).values;
    const { snapshot, refusal } = codes;
    const soon = apiKeys.ending.filter(({ seconds }) => seconds < SOON_SECONDS);
    return statePage(
      obstacles.length > 0 ? '! not ready' : 'ready',
      [...obstacles, ...(refusal ? [refusal] : [])].map((text) => `! ${text}`),
      [
        ['Version', version],
        ['Database', database?.value ? 'answers' : '! does not answer'],
        rowOf('Codes', snapshot, snapshot.current?.rows.records.length),
        rowOf('API keys', apiKeys.snapshot, apiKeys.snapshot.current?.size, apiKeys.secondsLeft),
        ...issuers.all.map((issuer) => {
          const count = issuer.keys?.jwks.keys.length || undefined;
          return rowOf(`Signing keys of ${issuer.name}`, issuer, count, issuer.secondsLeft);
        }),
        ['Next moment of the codes', moment(snapshot.current?.until ?? Infinity)],
        ['API keys that end within 14 days', `${soon.length}`],
        ...soon
          .slice(0, MOST_KEYS)
          .map(({ client, keyId, seconds }) => [`${client}, ${keyId}`, `! ${lasting(seconds)}`]),
      ],
    );
  }

  private get secondsUntilRefusal(): [what: string, seconds: number][] {
    const { apiKeys, issuers } = this;
    const left = Math.min(...issuers.all.map(({ secondsLeft }) => secondsLeft));
    const ofKeys: [string, number][] = [['keys', apiKeys.secondsLeft]];
    return [...(apiKeys.snapshot.current ? ofKeys : []), ['signing-keys', left]];
  }

  private get restored(): Record<'codes' | 'keys' | 'signing-keys', boolean> {
    return {
      codes: this.codes.snapshot.isRestored,
      keys: this.apiKeys.snapshot.isRestored,
      'signing-keys': this.issuers.all.some(({ isRestored }) => isRestored),
    };
  }
}

interface Answer {
  readonly isRestored: boolean;
  readonly age: number;
  readonly servedSince?: number | undefined;
}

/** `count` is undefined where nothing can be used. */
function rowOf(what: string, answer: Answer, count: number | undefined, left = Infinity): string[] {
  const { isRestored, age, servedSince } = answer;
  const since = servedSince === undefined ? '' : `, since ${moment(servedSince)}`;
  const state = `${count ?? 'none'}${since}${isRestored ? ', from LAST_GOOD_FILE' : ''}`;
  const last = age < Infinity ? `${lasting(age)} ago` : 'none';
  const isBad = isRestored || count === undefined;
  return [
    what,
    `${isBad ? '! ' : ''}${state}`,
    age < OLD_SECONDS ? last : `! ${last}`,
    lasting(left),
  ];
}
