-- Sends requests to the addresses of a DNS name in turn, and repeats one that failed at the next address. Promises: an address that DNS
-- names is used within two seconds, one that it names no longer is not; while DNS does not answer, or names nothing, the last list counts.
-- An address that did not answer is asked last for two seconds, so that the requests of a lost machine do not wait one by one.
-- Why not a reload of nginx at each change: a reload closes the callers' idle connections, and requests on their way to them fail.
local balancer = require 'ngx.balancer'
local resolver = require 'nginx.dns.resolver'

local TRIES = 3
local AVOIDED_SECONDS = 2
local shared = ngx.shared.replicas -- what all worker processes know: the list, and each address that is avoided, until it expires
local known, addresses = '', {} -- the list of this worker process
local port, turn = 0, 0

local function ask(premature, name, server)
  if premature then return end
  local dns = resolver:new({ nameservers = { server }, retrans = 2, timeout = 400 })
  local answers = dns and dns:query(name, { qtype = resolver.TYPE_A })
  local found = {}
  for _, answer in ipairs(answers or {}) do found[#found + 1] = answer.address end
  if #found == 0 then return end
  table.sort(found) -- DNS changes the order from answer to answer
  shared:set('list', table.concat(found, ' '))
end

local function follow(name, service_port, server)
  port = service_port
  if ngx.worker.id() ~= 0 then return end
  ngx.timer.at(0, ask, name, server)
  ngx.timer.every(1, ask, name, server)
end

local function refresh()
  local list = shared:get('list') or ''
  if list == known then return end
  known, addresses = list, {}
  for address in list:gmatch('%S+') do addresses[#addresses + 1] = address end
end

-- The next address in turn that is not avoided, else the next one
local function next_address(ctx)
  for _ = 0, #addresses do
    ctx.turn = ctx.turn + 1
    local address = addresses[ctx.turn % #addresses + 1]
    if not shared:get(address) then return address end
  end
  return addresses[ctx.turn % #addresses + 1]
end

local function choose()
  refresh()
  if #addresses == 0 then return end
  local ctx = ngx.ctx
  if not ctx.turn then
    turn = turn + 1
    ctx.turn = turn
    balancer.set_more_tries(math.min(#addresses, TRIES) - 1)
  elseif select(2, balancer.get_last_failure()) ~= 503 then -- no answer
    shared:set(ctx.address, true, AVOIDED_SECONDS)
  end
  ctx.address = next_address(ctx)
  balancer.set_current_peer(ctx.address, port)
end

return { follow = follow, choose = choose }
