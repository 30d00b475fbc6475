import { Injectable } from '@nestjs/common';
import { ApiKeysService } from '../auth/api-keys/api-keys.service.js';
import { IssuersService } from '../auth/issuers/issuers.service.js';
import { CodesService } from '../lookups/codes.service.js';
import { Draining } from '../http/draining.js';
import type { PolledSnapshot } from '../snapshots/polled-snapshot.js';
import { Metrics } from '../telemetry/metrics.js';
import { version } from '../telemetry/version.js';
import { duration, moment, statePage } from './state-page.js';

/** An issuer is asked each minute, the database four times a second. An older answer is a warning. */
const OLD_SECONDS = 150;
/** Of the API keys that end soon, the page names the first ones. */
const [SOON_SECONDS, MOST_KEYS] = [14 * 86_400, 5];
const PARTS = ['codes', 'keys', 'signing-keys'];

/** Whether the process can answer callers. The database is not asked: its outage must not take out all replicas at once. */
@Injectable()
export class HealthService {
  constructor(
    private readonly codes: CodesService,
    private readonly apiKeys: ApiKeysService,
    private readonly issuers: IssuersService,
    private readonly draining: Draining,
    private readonly metrics: Metrics,
  ) {
    metrics.addGauge({
      name: 'ready',
      help: '1 while callers can be answered',
      collect: (gauge) => gauge.set(this.obstacles.length === 0 ? 1 : 0),
    });
    metrics.addGauge({
      name: 'served_from_file',
      help: '1 while codes, keys or signing-keys are served from LAST_GOOD_FOLDER',
      labelNames: ['what'],
      collect: (gauge) => {
        for (const what of PARTS) gauge.set({ what }, this.fromFile.includes(what) ? 1 : 0);
      },
    });
    metrics.addGauge({
      name: 'seconds_until_refusal',
      help: 'Until callers are refused because keys or signing-keys are too old to be used',
      labelNames: ['what'],
      collect: (gauge) => {
        if (apiKeys.polled.value) gauge.set({ what: 'keys' }, apiKeys.secondsUntilRefusal);
        const secondsLeft = issuers.all.map((issuer) => issuer.secondsUntilRefusal);
        gauge.set({ what: 'signing-keys' }, Math.min(...secondsLeft));
      },
    });
  }

  /** Why the service is not ready, in sentences; empty if it is ready. */
  get obstacles(): string[] {
    const { draining, codes, apiKeys, issuers } = this;
    const drain = draining.isDraining ? 'The service is shutting down.' : undefined;
    const all = [drain, codes.obstacle, apiKeys.obstacle, issuers.obstacle];
    return all.filter((obstacle) => obstacle !== undefined);
  }

  /** What operators have to know of a service that is ready: what of the database it refuses to serve, too. */
  get remarks(): { fromFile?: string[]; refused?: string[] } {
    const { fromFile } = this;
    const { refusal } = this.codes;
    return { ...(fromFile.length > 0 && { fromFile }), ...(refusal && { refused: [refusal] }) };
  }

  /** A page about the state, for people. It is made of what the process knows: nothing is asked, and nothing waited for. */
  async page(): Promise<string> {
    const { obstacles, codes, apiKeys, issuers, metrics } = this;
    const [database] = (await metrics.databaseUp.get()).values;
    const present = codes.present();
    const { values = [], records = [] } = codes.rows ?? {};
    const soon = apiKeys.endingKeys.filter(({ secondsLeft }) => secondsLeft < SOON_SECONDS);
    return statePage(
      obstacles.length > 0 ? '! not ready' : 'ready',
      [...new Set([...obstacles, ...(this.remarks.refused ?? [])])],
      [
        ['Version', version],
        ['Database', database?.value ? 'answers' : '! does not answer'],
        row('Codes', polledPart(codes.polled), values.length + records.length),
        row(
          'API keys',
          polledPart(apiKeys.polled),
          apiKeys.polled.value?.size,
          apiKeys.secondsUntilRefusal,
        ),
        ...issuers.all.map((one) => {
          const part = { isRestored: one.state.name === 'restored', age: one.ageSeconds };
          const left = one.secondsUntilRefusal;
          return row(`Signing keys of ${one.name}`, part, one.keySet?.keys.length, left);
        }),
        ['Next moment of the codes', moment(present?.untilMs ?? Infinity)],
        ['API keys that end within 14 days', `${soon.length}`],
        ...soon
          .slice(0, MOST_KEYS)
          .map(({ client, keyId, secondsLeft }) => [
            `${client}, ${keyId}`,
            `! ${duration(secondsLeft)}`,
          ]),
      ],
    );
  }

  private get fromFile(): string[] {
    const { codes, apiKeys, issuers } = this;
    const isIssuerRestored = issuers.all.some(({ state }) => state.name === 'restored');
    const restored = [codes.polled.isRestored, apiKeys.polled.isRestored, isIssuerRestored];
    return PARTS.filter((_, at) => restored[at]);
  }
}

interface Part {
  readonly isRestored: boolean;
  readonly age: number;
  readonly servedSince?: number | undefined;
}

function polledPart({
  isRestored,
  ageSeconds,
  servedSinceMs,
}: Pick<PolledSnapshot<unknown>, 'isRestored' | 'ageSeconds' | 'servedSinceMs'>): Part {
  return { isRestored, age: ageSeconds, servedSince: servedSinceMs };
}

/** Where nothing can be used, `count` is undefined or 0. */
function row(name: string, part: Part, count = 0, left = Infinity): string[] {
  const { isRestored, age, servedSince } = part;
  const since = servedSince === undefined ? '' : `, since ${moment(servedSince)}`;
  const state = `${count || 'none'}${since}${isRestored ? ', from LAST_GOOD_FOLDER' : ''}`;
  const last = `${age < OLD_SECONDS ? '' : '! '}${duration(age)}${age < Infinity ? ' ago' : ''}`;
  const until = count > 0 && left > 0 ? duration(left) : '! now';
  return [name, isRestored || count === 0 ? `! ${state}` : state, last, until];
}
