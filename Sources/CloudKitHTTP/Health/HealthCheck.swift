import CloudKitAccounts
import CloudKitServer
import HTTPTypes

/// `GET /health`: whether the cloud runs, its store can be read and written, and nothing in it was found damaged; within
/// `StoreProbe.bound`. `GET /health?live`: whether it takes requests, which it answers also while its store is away.
struct HealthCheck {
    var probe: StoreProbe
    var cloud: Cloud
    /// Requests under other names learn no details.
    var operatorNames: OperatorNames
    /// nil where nothing can be said about a disk.
    var storage: StorageMonitor?
    var draining: Draining

    func check(_ request: IncomingRequest) async -> EndpointResponse {
        let isDetailed = operatorNames.admits(request)
        if draining.hasBegun { return response("stopping", "", status: .serviceUnavailable) }
        // Requests wait in the cloud for a database that is away, or are told when to come again: a proxy goes on sending them.
        if request.target == "/health?live" { return response("ok", "") }
        switch await probe.answer() {
        case .readable: break
        case .unreadable:
            return response("failing", isDetailed ? #","store":"unreadable""# : "", status: .serviceUnavailable)
        case .silent: return response("failing", isDetailed ? #","store":"silent""# : "", status: .serviceUnavailable)
        }
        let storage = storage?.status
        let failures = failures(storage)
        var details = #","store":"readable""#
        if let storage { details += storage.keys }
        if !failures.isEmpty { details += #","details":[\#(failures.joined(separator: ","))]"# }
        if !isDetailed { details = "" }
        // A cloud that cannot write refuses every save: a proxy with another one behind it should use that.
        guard storage?.isWritable != false else { return response("failing", details, status: .serviceUnavailable) }
        // 200: the cloud serves everything else, and would not do so from behind a proxy that took it for dead.
        return response(failures.isEmpty ? "ok" : "degraded", details)
    }

    private func response(_ status: String, _ details: String, status code: HTTPResponse.Status = .ok)
        -> EndpointResponse
    {
        EndpointResponse(status: code, body: Array(#"{"status":"\#(status)"\#(details)}"#.utf8))
    }

    /// The checks that failed. Their texts are fixed and need no escapes.
    private func failures(_ storage: StorageStatus?) -> [String] {
        var failures: [String] = []
        let damaged = cloud.store.damage.count
        if damaged > 0 { failures.append(#"{"check":"values","status":"failed","damaged":\#(damaged)}"#) }
        if let renewal = cloud.storeHistory.renewals.last {
            failures.append(#"{"check":"epoch","status":"failed","reason":"\#(renewal.rawValue)"}"#)
        }
        if let place = storage?.unwritable {
            failures.append(
                #"{"check":"writing","status":"failed","reason":"\#(place.rawValue) cannot be written to"}"#)
        }
        let clock = cloud.nodes.clockDifference
        if ClockCheck.Verdict(difference: clock) >= .far {
            failures.append(
                #"{"check":"clock","status":"failed","reason":"clocks of nodes differ","differenceSeconds":\#(clock / 1000)}"#
            )
        }
        if let backup = storage?.backup, backup.isLate(at: cloud.serverEnvironment.now()) {
            let age = backup.age(at: cloud.serverEnvironment.now())
            failures.append(#"{"check":"backup","status":"failed","reason":"the backup is late","ageSeconds":\#(age)}"#)
        }
        if let backup = storage?.backup, backup.isBehind(at: cloud.serverEnvironment.now()) {
            let lag = (backup.lag(at: cloud.serverEnvironment.now()) ?? 0) / 1000
            failures.append(
                #"{"check":"backupChanges","status":"failed","reason":"changes do not reach the backup","lagSeconds":\#(lag)}"#
            )
        }
        if let storage, storage.freeBytes < StorageStatus.freeBytesMin {
            failures.append(#"{"check":"disk","status":"failed","freeBytes":\#(storage.freeBytes)}"#)
        }
        return failures
    }
}

extension StorageStatus {
    /// The keys of the answer's object.
    fileprivate var keys: String {
        var keys = #","writing":"\#(isWritable ? "ok" : "failing")","storeBytes":\#(storeBytes)"#
        keys += #","freeBytes":\#(freeBytes)"#
        if let accounts { keys += #","accounts":\#(accounts)"# }
        if let time = backup?.lastTime { keys += #","lastBackup":\#(time)"# }
        return keys + #","version":"\#(BuildVersion.text)""#
    }
}
