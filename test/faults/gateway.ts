import { Nginx } from '../support/nginx.js';
import { ALL_PATHS } from '../support/paths.js';
import { Stage } from '../support/stage.js';
import { restartUnderTraffic } from './rolling-restart.js';

/** How often a caller that accepts gzip asks again with the entity tag that it got. */
const CONDITIONAL_MS = 20;

/** Restarts each of three replicas ten times behind nginx with deploy/nginx, under 500 requests a second. Gives what failed. */
export async function gateway(requests = 100_000): Promise<string> {
  const stage = await Stage.set(3);
  const nginx = await Nginx.start(stage.replicas.map(({ port }) => port));
  const { key, token } = stage.credentials;
  const headers = { 'Api-Key': key, Authorization: `Bearer ${token}`, 'Accept-Encoding': 'gzip' };
  const conditional = { asked: 0, not304: 0, weak: 0 };
  const tags = new Map<string, string>();
  const askAgain = async (): Promise<void> => {
    const path = ALL_PATHS[conditional.asked++ % ALL_PATHS.length] as string;
    const tag = tags.get(path);
    const { status, headers: answered } = await fetch(nginx.url + path, {
      headers: { ...headers, ...(tag === undefined ? {} : { 'If-None-Match': tag }) },
    });
    if (status === 200) tags.set(path, answered.get('etag') ?? '');
    if (tag?.startsWith('W/')) conditional.weak++;
    if (tag !== undefined && status !== 304) conditional.not304++;
  };
  const timer = setInterval(
    () => void askAgain().catch(() => conditional.not304++),
    CONDITIONAL_MS,
  );
  try {
    const restarts = await restartUnderTraffic(stage, () => nginx.url, requests);
    const { asked, not304, weak } = conditional;
    return `${restarts}\nof ${asked} conditional requests beside them, ${weak} with a tag that nginx had made weak, ${not304} were not answered 304`;
  } finally {
    clearInterval(timer);
    await nginx.stop();
    await stage.strike();
  }
}
