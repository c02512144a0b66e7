/// What may happen next.
extension Simulation {
    func step() async throws {
        let index = roll(devices.count)
        switch roll(100) {
        case ..<13: try await editRecord(on: index)
        case ..<24: try await addRecord(on: index)
        case ..<26: try await attachFile(on: index)
        case ..<27: try await copyFile(on: index)
        case ..<29: try await detachFile(on: index)
        case ..<33: try await query(on: index)
        case ..<38: try await moveRecord(on: index)
        case ..<42: try await editSeveral(on: index)
        case ..<47: try await deleteRecord(on: index)
        case ..<53: try await shareTree(on: index)
        case ..<54: try await shareZone(on: index)
        case ..<59: try await accept(on: index)
        case ..<62: try await askForAccess(on: index)
        case ..<67: try await changeShare(on: index)
        case ..<69: try await endShare(on: index)
        case ..<70: try await leaveZone(on: index)
        case ..<71: try await signUp()
        case ..<72: try await resetKeychain(on: index)
        case ..<82: try await sync(on: index)
        case ..<83: try await shareGrownTree(on: index)
        case ..<85: try await answerGuests()
        case ..<88: try await removeByAdministrator()
        case ..<90: store(on: index)
        case ..<92: kill(on: index)
        case ..<93: try await tendZones(on: index)
        case ..<95: try await operate()
        case ..<97: try await restart()
        case ..<98: try await jump()
        default: trouble = [0, 20, 60][roll(3)]
        }
    }
}
