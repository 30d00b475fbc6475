// The rows that the answers are made of, of all moments.
import type { AreaProperty, CodeListValue, CommunicationCode, Validity } from '../database/entities.js';

export const AREAS = ['order-update', 'order-capture-v2'] as const;
export type Area = (typeof AREAS)[number];

/** Everything that the three operations are answered from, in the order of the answers. */
export interface CodeRows {
  readonly properties: readonly AreaProperty[];
  readonly values: readonly CodeListValue[];
  readonly records: readonly CommunicationCode[];
}

/** The rows would make broken answers. The message says why, for operators. */
export class UnservableRows extends Error {}

export const ALWAYS: Validity = { validFromMs: -Infinity, validUntilMs: Infinity };

/** @param momentMs in milliseconds since the epoch */
export const isInForce = ({ validFromMs, validUntilMs }: Validity, momentMs: number): boolean =>
  validFromMs <= momentMs && momentMs < validUntilMs;

/**
 * The constraints of the database prevent these faults. If one was dropped, callers must not get broken answers.
 * @throws UnservableRows if an area has no property, or a name is empty or occurs twice in its place
 */
export function assertServable({ properties, values, records }: CodeRows): void {
  for (const area of AREAS) {
    const hasProperty = properties.some((property) => property.area === area);
    if (hasProperty) continue;
    throw new UnservableRows(`the area ${area} has no property: area_property needs a row for each`);
  }
  const ofAreas = new UniqueNames('area');
  for (const { area, property } of properties) ofAreas.add(area, property);
  const ofLists = new UniqueNames('list');
  for (const { codeList, value } of values) ofLists.add(codeList, value);
  const ofCodeTypes = new UniqueNames('code type');
  for (const { codeType, code } of records) ofCodeTypes.add(codeType, code);
}

/** The names in all places of one kind. */
class UniqueNames {
  private readonly namesByPlace = new Map<string, Set<string>>();

  constructor(private readonly kind: string) {}

  /** @throws UnservableRows if the name is empty, or stands in this place already */
  add(place: string, name: string): void {
    const names = this.namesOf(place);
    if (name.trim() === '') this.refuse(place, `the empty name ${JSON.stringify(name)}`);
    if (names.has(name)) this.refuse(place, `${JSON.stringify(name)} twice`);
    names.add(name);
  }

  private namesOf(place: string): Set<string> {
    const known = this.namesByPlace.get(place);
    if (known) return known;
    const names = new Set<string>();
    this.namesByPlace.set(place, names);
    return names;
  }

  private refuse(place: string, fault: string): never {
    throw new UnservableRows(`the ${this.kind} ${JSON.stringify(place)} holds ${fault}`);
  }
}
