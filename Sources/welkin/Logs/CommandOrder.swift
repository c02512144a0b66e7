import CloudKitLogs
import CloudKitLogsSQLite
import CloudKitModel
import CloudKitServer
import Foundation

extension DataFolder {
    /// Carries out what a command orders and leaves an entry of it in the log, also when it failed.
    ///
    /// A cloud may run on the folder and write the same log. A log that cannot be written is reported and keeps no order from being
    /// carried out.
    ///
    /// - Parameters:
    ///   - order: The name of the order, as the Console's: `accounts/disable`.
    ///   - container: The container; nil for an order to the whole cloud.
    ///   - email: The address of the account that the order is about. The log gets the beginning of its id.
    ///   - details: Identifiers that the order concerns; no secrets, addresses and field values.
    ///   - notes: Returns identifiers that the outcome has.
    @discardableResult
    func order<Value>(
        _ order: String, in container: ContainerID? = nil, _ environment: CloudKitModel.Environment? = nil,
        of email: String? = nil, details: [String: String] = [:],
        noting notes: (Value) -> [String: String] = { _ in [:] },
        _ body: () async throws -> Value
    ) async throws -> Value {
        let start = ContinuousClock.now
        var entry = LogEntry(
            id: LogID(milliseconds: serverEnvironment.now()), kind: .operatorAction, operation: order)
        entry.container = container.map { LogWord.cleaned($0.name) }
        entry.environment = environment?.rawValue
        var attributes = details.mapValues { LogWord.cleaned($0) }
        // Whoever may read the folder may run commands: the user of the machine is all that is known.
        attributes["operator"] = "command of user \(getuid())"
        attributes["account"] = await shownID(of: email)
        let outcome: Result<Value, any Error>
        do {
            let value = try await body()
            attributes.merge(notes(value).mapValues { LogWord.cleaned($0) }) { $1 }
            outcome = .success(value)
        } catch {
            outcome = .failure(error)
            let failure = error as? RequestFailure
            entry.code = failure?.code.rawValue ?? "refused"
            entry.details = failure.map { failure in
                LogDetails(failures: [
                    LogFailure(
                        code: failure.code.rawValue, reason: LogWord.cleaned(failure.reason), remedy: failure.remedy)
                ])
            }
        }
        // An account has an id once it is there.
        if attributes["account"] == nil { attributes["account"] = await shownID(of: email) }
        entry.details = LogDetails(failures: entry.details?.failures ?? [], attributes: attributes)
        entry.microseconds = Int((ContinuousClock.now - start) / .microseconds(1))
        await append(entry)
        return try outcome.get()
    }

    private func shownID(of email: String?) async -> String? {
        guard let email else { return nil }
        return try? await accountStore.accounts.account(email: email)?.shownID
    }

    private func append(_ entry: LogEntry) async {
        var collector = TelemetryCollector()
        collector.add(entry)
        do throws(LogStoreError) {
            try await SQLiteLogStore(appendingTo: logPath).append([entry], telemetry: collector.take())
        } catch {
            Output.remark("The log has no entry of this command: \(error.reason).")
        }
    }
}
