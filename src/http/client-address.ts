import { isIP } from 'node:net';

interface AddressSources {
  /** The address of the connection; undefined where the client reset the connection at once. */
  readonly peer: string | undefined;
  /** Express's `request.ips`: the entries of X-Forwarded-For that our proxies have written, the outermost first. */
  readonly forwarded: readonly string[];
  /** The number of our own proxies (TRUSTED_PROXY_HOPS). */
  readonly hops: number;
}

/** The client's address, which the outermost of our proxies wrote into X-Forwarded-For; without proxies, the peer's. */
export function clientAddress({ peer, forwarded, hops }: AddressSources): string | undefined {
  const peerAddress = peer === undefined ? undefined : withoutPrefix(peer);
  // Where there are fewer entries than proxies, the first entry may be free text of the client
  if (forwarded.length !== hops) return peerAddress;
  const [outermost] = forwarded;
  if (outermost === undefined) return peerAddress;
  const address = withoutPrefix(withoutPort(outermost));
  return isIP(address) > 0 ? address : peerAddress;
}

/** Takes off `::ffff:`, with which a socket of both families shows IPv4 addresses (RFC 4291 section 2.5.5.2). */
function withoutPrefix(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

/** The address of an entry. Some gateways write `192.0.2.7:4711` or `[2001:db8::1]:80`. */
function withoutPort(entry: string): string {
  const ipv6 = /^\[(?<address>.+)\](?::\d+)?$/.exec(entry);
  const ipv4 = /^(?<address>[\d.]+):\d+$/.exec(entry);
  const match = ipv6 ?? ipv4;
  return match?.groups?.['address'] ?? entry;
}
