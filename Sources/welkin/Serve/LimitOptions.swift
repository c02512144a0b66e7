import ArgumentParser
import CloudKitServer

/// The limits that an operator can set lower than Apple's (B-LIM-16), and those that have no default.
struct LimitOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The maximum size of an asset in bytes; 4 GiB by default, and at most 50 MiB from web clients.",
            valueName: "n"))
    var assetBytesMax: Int64?
    @Option(
        help: ArgumentHelp(
            "The bytes of records and assets that each user may keep in the private database of a container; saves beyond get quotaExceeded. No limit by default.",
            valueName: "n"))
    var quotaBytes: UInt64?
    @Option(
        help: ArgumentHelp(
            "The requests a second of one user to one container, on average over ten seconds; more get serviceUnavailable with retryAfter. No limit by default.",
            valueName: "n"))
    var userRequestsPerSecond: Double?
    @Option(
        help: ArgumentHelp(
            "The requests a second to one container, of all its users and apps together. No limit by default.",
            valueName: "n"))
    var containerRequestsPerSecond: Double?
    @Option(help: ArgumentHelp("The bytes of one record without its assets; 1 MiB by default.", valueName: "n"))
    var recordBytesMax: Int?
    @Option(help: ArgumentHelp("The custom zones of one user in one container; 1000 by default.", valueName: "n"))
    var zonesMax: Int?
    @Option(help: ArgumentHelp("The fields of one record type; 256 by default.", valueName: "n"))
    var fieldsMax: Int?
    @Option(
        help: ArgumentHelp(
            "The look-ups of people, for discovery and for shares, of one user in an hour; 1000 by default.",
            valueName: "n"))
    var peopleLookupsMax: Int?
    @Option(
        help: ArgumentHelp(
            "The accounts that people make for themselves in an hour, without an invitation; 1000 by default.",
            valueName: "n"))
    var signUpsMax: Int?

    func validate() throws {
        if let assetBytesMax, assetBytesMax <= 0 { throw ValidationError("--asset-bytes-max is 1 or more.") }
        for (name, rate) in [
            ("user", userRequestsPerSecond), ("container", containerRequestsPerSecond),
        ] {
            if let rate, !(0.001...1_000_000).contains(rate) {
                throw ValidationError("--\(name)-requests-per-second is 0.001 to 1000000.")
            }
        }
        let defaults = Limits()
        for (name, value, max) in [
            ("record-bytes-max", recordBytesMax, defaults.recordBytesMax), ("zones-max", zonesMax, defaults.zonesMax),
            ("fields-max", fieldsMax, defaults.fieldsMax), ("people-lookups-max", peopleLookupsMax, 1_000_000),
            ("sign-ups-max", signUpsMax, 100_000),
        ] {
            if let value, !(1...max).contains(value) { throw ValidationError("--\(name) is 1 to \(max).") }
        }
    }

    var limits: Limits {
        var limits = Limits()
        if let assetBytesMax {
            limits.nativeAssetBytesMax = assetBytesMax
            limits.webAssetBytesMax = min(limits.webAssetBytesMax, assetBytesMax)
        }
        limits.quotaBytes = quotaBytes
        limits.userRequestsPerSecond = userRequestsPerSecond
        limits.containerRequestsPerSecond = containerRequestsPerSecond
        if let recordBytesMax { limits.recordBytesMax = recordBytesMax }
        if let zonesMax { limits.zonesMax = zonesMax }
        if let fieldsMax { limits.fieldsMax = fieldsMax }
        if let peopleLookupsMax { limits.peopleLookupsMax = peopleLookupsMax }
        if let signUpsMax { limits.signUpsMax = signUpsMax }
        return limits
    }
}
