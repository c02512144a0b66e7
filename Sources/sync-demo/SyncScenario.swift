import CloudKit

/// The steps of the demo and the final check.
struct SyncScenario {
    let phone: NotebookDevice
    let laptop: NotebookDevice

    func run() async throws {
        Narrator.heading("Two devices of one user, each with a CKSyncEngine that syncs automatically")
        for device in [phone, laptop] {
            guard try await device.container.accountStatus() == .available else {
                throw Unexpected("The \(device.name) is not signed in.")
            }
            await device.app.start()
            let time = try await device.wait(until: "know its zone") { await $0.isReady }
            Narrator.report("the \(device.name) is ready", after: time)
        }
        try await live()
        try await editDuringOutage()
        try await editDuringRestart()
        let phone = try await restartApp()
        try await check([phone, laptop])
    }

    // MARK: Steps

    private func live() async throws {
        Narrator.heading("Notes written on one device reach the other")
        try await pass("milk", from: phone, to: laptop)
        try await pass("milk, bread", from: laptop, to: phone)
    }

    private func pass(_ text: String, from sender: NotebookDevice, to receiver: NotebookDevice) async throws {
        await sender.app.write("shopping", text)
        let time = try await receiver.wait(until: "have \"\(text)\"") { await $0.notes["shopping"]?.text == text }
        Narrator.report("the \(sender.name) writes \"\(text)\", the \(receiver.name) has it", after: time)
    }

    private func editDuringOutage() async throws {
        Narrator.heading("The cloud is stopped while both devices keep writing")
        try Narrator.askFor("stop", "stop the cloud")
        await phone.app.write("shopping", "milk, bread, tea")
        await phone.app.write("phone", "written without a cloud")
        await laptop.app.write("shopping", "milk, bread, coffee")
        await laptop.app.write("laptop", "written without a cloud")
        for device in [phone, laptop] {
            try await device.wait(until: "notice that the cloud is unreachable") { await $0.refusals > 0 }
            let count = await device.app.pendingCount
            Narrator.report("the \(device.name) cannot reach the cloud: \(count) changes are pending")
        }
        try Narrator.askFor("start", "start the cloud again")
        try await agree("both have all changes again, automatically")
        let conflicts = await phone.app.conflicts.union(laptop.app.conflicts).count
        guard conflicts > 0 else { throw Unexpected("Both devices edited one note, and neither saw a conflict.") }
        let text = try await merged()
        Narrator.report(
            "both had edited one note: \(conflicts == 1 ? "1 conflict" : "\(conflicts) conflicts"), merged to \"\(text)\""
        )
    }

    /// Returns the merged text of the note that both devices edited while the cloud was stopped.
    private func merged() async throws -> String {
        let text = await phone.app.notes["shopping"]?.text ?? ""
        guard text == "milk, bread, tea" else { throw Unexpected("The merged note says \"\(text)\".") }
        return text
    }

    private func editDuringRestart() async throws {
        Narrator.heading("The cloud restarts in the middle of forty edits")
        for number in 0..<10 { await edit(number) }
        try Narrator.askFor("stop", "stop the cloud")
        for number in 10..<20 { await edit(number) }
        try Narrator.askFor("start", "start the cloud again")
        try await agree("both have all forty")
    }

    private func edit(_ number: Int) async {
        await phone.app.write("phone-\(number)", "number \(number)")
        await laptop.app.write("laptop-\(number)", "number \(number)")
    }

    /// Ends the phone's app while a change is pending, and starts it again from its stored state.
    private func restartApp() async throws -> NotebookDevice {
        Narrator.heading("The phone's app is ended with a pending change and started again")
        try Narrator.askFor("stop", "stop the cloud")
        let stored = await phone.app.stateCount
        await phone.app.write("draft", "survives the app")
        try await phone.wait(until: "store its state") { await $0.stateCount > stored }
        let again = await phone.restarted()
        await laptop.app.write("meanwhile", "written while the phone's app was away")
        try Narrator.askFor("start", "start the cloud again")
        await again.app.start()
        let time = try await again.wait(until: "have the note written meanwhile") { await $0.notes["meanwhile"] != nil }
        Narrator.report("the phone has the note that the laptop wrote meanwhile", after: time)
        let draft = try await laptop.wait(until: "have the draft") { await $0.notes["draft"] != nil }
        Narrator.report("the laptop has the phone's pending note", after: draft)
        return again
    }

    // MARK: Checks

    private func agree(_ label: String) async throws {
        let start = ContinuousClock.now
        let expected = Set(await phone.app.notes.keys).union(await laptop.app.notes.keys)
        for device in [phone, laptop] {
            try await device.wait(until: "have everything") { await Set($0.notes.keys) == expected }
        }
        for device in [phone, laptop] {
            try await device.wait(until: "have no pending changes") { await $0.pendingCount == 0 }
        }
        try await phone.wait(until: "agree with the laptop") { app in
            let others = await laptop.app.notes
            return await app.notes == others
        }
        Narrator.report(label, after: ContinuousClock.now - start)
    }

    /// Checks that both devices and the cloud have the same notes, and that none is missing.
    private func check(_ devices: [NotebookDevice]) async throws {
        Narrator.heading("Check")
        var expected: Set = ["shopping", "phone", "laptop", "draft", "meanwhile"]
        for number in 0..<20 { expected.formUnion(["phone-\(number)", "laptop-\(number)"]) }
        for device in devices {
            try await device.wait(until: "have no pending changes") { await $0.pendingCount == 0 }
        }
        let cloud = try await fetchNotes()
        for device in devices {
            let notes = await device.app.notes
            guard Set(notes.keys) == expected else {
                throw Unexpected("The \(device.name) has \(notes.count) notes, and \(expected.count) were written.")
            }
            guard notes == cloud else { throw Unexpected("The \(device.name) and the cloud have different notes.") }
        }
        Narrator.report(
            "✓ \(cloud.count) notes, the same on the phone, the laptop and in the cloud; none lost.")
    }

    private func fetchNotes() async throws -> [String: Notebook.Note] {
        var notes: [String: Notebook.Note] = [:]
        var token: CKServerChangeToken?
        var moreComing = true
        while moreComing {
            let changes = try await laptop.container.privateCloudDatabase.recordZoneChanges(
                inZoneWith: Notebook.zone.zoneID, since: token)
            for (id, result) in changes.modificationResultsByID {
                let record = try result.get().record
                notes[id.recordName] = Notebook.Note(
                    text: record["text"] as? String ?? "", edit: record["edit"] as? Int ?? 0)
            }
            token = changes.changeToken
            moreComing = changes.moreComing
        }
        return notes
    }
}
