import { isIP } from 'node:net';

interface AddressSources {
  /** Of the connection. Undefined after a reset. */
  readonly peer: string | undefined;
  /** Express's `request.ips`: the entries of X-Forwarded-For that our own proxies wrote, the outermost first. */
  readonly forwarded: readonly string[];
  /** How many proxies are ours. */
  readonly hops: number;
}

/** What the outermost of our own proxies wrote into X-Forwarded-For, or the peer's address. */
export function clientAddress({ peer, forwarded, hops }: AddressSources): string | undefined {
  const peerAddress = peer === undefined ? undefined : withoutPrefix(peer);
  // With fewer entries than proxies the first entry may be free text of the client
  if (forwarded.length !== hops) return peerAddress;
  const [outermost] = forwarded;
  if (outermost === undefined) return peerAddress;
  const address = withoutPrefix(withoutPort(outermost));
  return isIP(address) > 0 ? address : peerAddress;
}

/** A socket of both families shows 192.0.2.7 as ::ffff:192.0.2.7 (RFC 4291 section 2.5.5.2). */
function withoutPrefix(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

/** Some gateways write `192.0.2.7:4711` or `[2001:db8::1]:80`. */
function withoutPort(entry: string): string {
  const ipv6 = /^\[(?<address>.+)\](?::\d+)?$/.exec(entry);
  const ipv4 = /^(?<address>[\d.]+):\d+$/.exec(entry);
  const match = ipv6 ?? ipv4;
  return match?.groups?.['address'] ?? entry;
}
