-- Who counts as a stranger: whoever sends no API key that the service accepted within the last hour. What the headers look like decides nothing.
-- The first request with a key counts as a stranger's, and its answer says what the key is. Promises: text in the headers never passes by the
-- limits; a caller is not held up by a stranger at the same address; only accepted keys take memory, and none is kept in clear.
local REMEMBERED_SECONDS = 3600
local callers = ngx.shared.callers

local function id()
  local key = ngx.var.http_api_key
  return key and ngx.sha1_bin(key)
end

-- What the limits of strangers count by: nothing for a caller
local function address()
  local key = id()
  if key and callers:get(key) then return '' end
  return ngx.var.binary_remote_addr
end

-- After the answer. Only the lookups ask for a key: on other paths a 200 says nothing
local function judge()
  local key, status = id(), ngx.status
  if not key then return end
  if status == 401 then
    callers:delete(key)
  elseif (status == 200 or status == 304) and ngx.re.find(ngx.var.uri, '/(supported-values|communication-codes)$', 'jo') then
    callers:set(key, true, REMEMBERED_SECONDS)
  end
end

return { address = address, judge = judge }
