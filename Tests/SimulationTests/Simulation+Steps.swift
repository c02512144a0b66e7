/// The possible steps of a history.
extension Simulation {
    func step() async throws {
        let index = roll(devices.count)
        switch roll(100) {
        case ..<12: try await editRecord(on: index)
        case ..<22: try await addRecord(on: index)
        case ..<24: try await attachFile(on: index)
        case ..<25: try await copyFile(on: index)
        case ..<27: try await detachFile(on: index)
        case ..<31: try await query(on: index)
        case ..<36: try await moveRecord(on: index)
        case ..<40: try await editSeveral(on: index)
        case ..<45: try await deleteRecord(on: index)
        case ..<51: try await shareTree(on: index)
        case ..<52: try await shareZone(on: index)
        case ..<57: try await accept(on: index)
        case ..<60: try await askForAccess(on: index)
        case ..<65: try await changeShare(on: index)
        case ..<67: try await endShare(on: index)
        case ..<68: try await leaveZone(on: index)
        case ..<69: try await signUp()
        case ..<70: try await resetKeychain(on: index)
        case ..<80: try await sync(on: index)
        case ..<81: try await shareGrownTree(on: index)
        case ..<84: try await answerGuests()
        case ..<87: try await removeByAdministrator()
        case ..<89: store(on: index)
        case ..<91: kill(on: index)
        case ..<92: try await tendZones(on: index)
        case ..<94: try await operate()
        case ..<96: try await withoutFaults(forgetWhatWent)
        case ..<97: try await restart()
        case ..<98: try await jump()
        default: trouble = [0, 20, 60][roll(3)]
        }
    }
}
